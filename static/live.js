// Keeps an open page up to date: unread messages, its lists, relative times, and a sound for whoever wants one.
const VISIBLE = 15_000, HIDDEN = 60_000; // milliseconds between two polls
const COMMIT = 2; // seconds that a change may take until others see it
const title = document.title;
let last, timer;

function showUnread(count) {
  const badge = document.querySelector("[data-unread]");
  const said = count > 999 ? "999+" : String(count);
  badge.hidden = !count;
  badge.querySelector("[aria-hidden]").textContent = said;
  badge.querySelector(".sr").textContent = badge.dataset.unread.replace("#", said);
  document.title = count ? `(${said}) ${title}` : title;
  navigator.setAppBadge?.(count).catch(() => {});
}

// The session has ended, here or elsewhere: leave nothing of it on the screen.
function leave() {
  document.body.replaceChildren();
  location.replace(location.pathname + location.search);
}

async function poll() {
  clearTimeout(timer);
  try {
    const answer = await fetch(document.body.dataset.live, { redirect: "manual" });
    if (answer.type === "opaqueredirect") return leave();
    if (answer.ok) follow(await answer.json());
  } catch {
    // No network: try again later.
  }
  clearTimeout(timer); // of another poll meanwhile
  timer = setTimeout(poll, document.hidden ? HIDDEN : VISIBLE);
}

function follow(now) {
  showUnread(now.unread);
  if (last && now.newest > last.newest) ring(now.newest);
  // At first: what has changed since this page was asked for may be missing from it.
  const missed = now.changed !== null && now.changed < performance.now() / 1000 + COMMIT;
  if (last ? now.unread !== last.unread || now.mark !== last.mark : missed) htmx.trigger(document.body, "changed");
  last = now;
}

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
    const instant = Date.parse(time.dateTime), said = relative((instant - now) / 1000);
    if (time.textContent !== said) time.textContent = said;
    if (ticked < instant && instant <= now) setTimeout(poll, 2000); // it is due: its outcome follows
  }
  ticked = now;
}, 1000);

document.addEventListener("visibilitychange", () => document.hidden || poll());
navigator.serviceWorker?.addEventListener("message", poll);
navigator.serviceWorker?.register("/service-worker.js").catch(() => {});
document.addEventListener("DOMContentLoaded", poll); // after htmx
