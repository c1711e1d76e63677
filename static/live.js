// Keeps an open page up to date: unread messages, its lists, relative times, and a sound for whoever wants one.
// A socket says what changes (live_worker.js); without one, and at times beside it, the page polls.
const VISIBLE = 15_000, HIDDEN = 60_000; // milliseconds between two polls
const TICK = 2_000; // between two looks at what is in progress, without a socket
const APART = 1_000; // between two looks because of a wake
const COMMIT = 2; // seconds that a change may take until others see it
const ANSWERED = 30_000; // milliseconds in which a form that was sent shows its answer
const title = document.title;
let last, account, here = {}, timer, isLive = false, isWoken = false, wokenAt = 0, sentAt = 0;

function showUnread(count) {
  const badge = document.querySelector("[data-unread]");
  const text = count > 999 ? "999+" : String(count);
  badge.hidden = !count;
  badge.querySelector("[aria-hidden]").textContent = text;
  badge.querySelector(".sr").textContent = badge.dataset.unread.replace("#", text);
  document.title = count ? `(${text}) ${title}` : title;
  navigator.setAppBadge?.(count).catch(() => {});
}

// The session has ended, here or elsewhere: leave nothing of it on the screen. If a form of this page ended it, such as
// that to delete the account, its answer comes.
addEventListener("submit", () => sentAt = Date.now());
function leave() {
  const wait = sentAt + ANSWERED - Date.now();
  if (wait > 0) return timer = setTimeout(poll, wait);
  document.body.replaceChildren();
  location.replace(location.pathname + location.search);
}

async function poll() {
  clearTimeout(timer);
  try {
    const answer = await fetch(document.body.dataset.live, { redirect: "manual" });
    if (answer.type === "opaqueredirect") return leave();
    if (answer.status === 403) { // a member no longer: the answer says so, and takes the place of the page
      document.documentElement.innerHTML = await answer.text();
      return;
    }
    if (answer.ok) follow(await answer.json());
  } catch {
    // No network: try again later.
  }
  clearTimeout(timer); // of another poll meanwhile
  timer = setTimeout(poll, document.hidden || isLive ? HIDDEN : VISIBLE);
}

function follow(now) {
  if (last && now.at < last.at) return; // an older one, by the other way
  account ??= now.account;
  if (account && now.account && now.account !== account) return leave(); // another tab acts for another account
  const { board } = document.querySelector("[data-board]")?.dataset ?? {};
  if (board && !(board in now.boards)) return leave(); // it was removed
  followBoard(now);
  showUnread(now.unread);
  if (last && now.newest > last.newest) ring(now.newest);
  // At first: what has changed since this page was asked for may be missing from it.
  const missed = now.changed !== null && now.changed < performance.now() / 1000 + COMMIT;
  if (last ? now.unread !== last.unread || now.mark !== last.mark : missed) {
    htmx.trigger(document.body, "changed");
    if (!isLive) wake();
  }
  last = now;
}

// The list of a board is fetched again wherever it shows less than there is.
function followBoard({ boards }) {
  const shown = document.querySelector("[data-board]"), present = document.querySelector("[data-here]");
  if (!shown) return;
  const { board, mark } = shown.dataset;
  if (boards[board] !== mark) htmx.trigger(document.body, "board");
  present.hidden = !here[board];
  present.textContent = present.dataset.here.replace("#", here[board]);
}

// One socket for all tabs, or of this tab where browsers have no shared workers.
function connect() {
  const { socket, worker, account } = document.body.dataset;
  const address = new URL(socket, location.href).href.replace("http", "ws");
  let port;
  if (window.SharedWorker) {
    port = new SharedWorker(worker, `live ${account} ${socket}`).port;
  } else {
    const channel = new MessageChannel(), script = document.createElement("script");
    script.src = worker;
    script.onload = () => self.onconnect({ ports: [channel.port2] });
    document.head.append(script);
    port = channel.port1;
  }
  port.onmessage = ({ data }) => hear(data);
  const hello = () => port.postMessage(address);
  addEventListener("pagehide", () => port.postMessage(""));
  addEventListener("pageshow", (event) => event.persisted && hello());
  hello();
}

function hear(message) {
  const wasLive = isLive;
  isLive = message.live;
  here = message.here ?? {}; // no poll says it
  if (!isLive || !last) return isLive === wasLive && last ? null : poll();
  follow(message);
  wake();
}

// What has no mark is read again too, now and then; not while somebody types into it.
function wake() {
  isWoken = true;
  const wait = wokenAt + APART - Date.now();
  if (document.hidden) return;
  if (wait > 0 || document.activeElement?.matches("main input, main textarea, main select")) {
    setTimeout(() => isWoken && wake(), Math.max(wait, APART));
    return;
  }
  isWoken = false;
  wokenAt = Date.now();
  htmx.trigger(document.body, "woken");
}
setInterval(() => isLive || document.hidden || htmx.trigger(document.body, "tick"), TICK);

// One tab plays it. A browser that allows no sound yet stays silent.
function ring(newest) {
  if (localStorage.sound !== "on" || localStorage.rang === newest) return;
  localStorage.rang = newest;
  play();
}
const play = () => new Audio("/static/ring.wav").play().catch(() => {});

const sound = document.querySelector("[data-sound]");
if (sound) {
  sound.checked = localStorage.sound === "on";
  sound.addEventListener("change", () => {
    localStorage.sound = sound.checked ? "on" : "off";
    if (sound.checked) play();
  });
}

// As `relative` in common/templatetags/clock.py.
const [NOW, STEPS] = JSON.parse(document.body.dataset.relative);
function relative(seconds) {
  const size = Math.abs(seconds);
  if (size < 1) return NOW;
  const [, unit, ahead, past] = STEPS.find(([limit]) => limit === null || size < limit);
  const count = Math.round(size / unit);
  return (seconds > 0 ? ahead : past)[count === 1 ? 0 : 1].replace("#", count);
}

// Instants are the server's, whose clock may differ.
const ahead = Date.now() - Date.parse(document.body.dataset.now);
let ticked = Date.now() - ahead;
setInterval(() => {
  if (document.hidden) return;
  const now = Date.now() - ahead;
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const instant = Date.parse(time.dateTime), text = relative((instant - now) / 1000);
    if (time.textContent !== text) time.textContent = text;
    if (ticked < instant && instant <= now) setTimeout(poll, 2000); // it is due: its outcome follows
  }
  ticked = now;
}, 1000);

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  poll();
  if (isWoken) wake();
});
navigator.serviceWorker?.addEventListener("message", poll);
navigator.serviceWorker?.register("/service-worker.js").catch(() => {});
document.addEventListener("DOMContentLoaded", () => { // after htmx
  poll();
  connect();
});
