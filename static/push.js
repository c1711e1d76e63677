// “Ring in this browser”: asks for permission, subscribes, and sends the subscription as a new channel.
const box = document.querySelector("[data-ring]");
const form = box.querySelector("form"), notice = box.querySelector("[aria-live]"), texts = box.dataset;

function browserName() {
  const agent = navigator.userAgent;
  const browsers = { Edge: /Edg/, Opera: /OPR/, Firefox: /Firefox/, Chrome: /Chrom/, Safari: /Safari/ };
  const systems = { Android: /Android/, iPhone: /iPhone/, iPad: /iPad/, Windows: /Windows/, Mac: /Mac OS/, Linux: /Linux/ };
  const match = (names) => Object.keys(names).find((one) => names[one].test(agent));
  const [browser, system] = [match(browsers) ?? texts.unnamed, match(systems)];
  return system ? texts.named.replace("#", browser).replace("#", system) : browser;
}

async function subscribe() {
  if ((await Notification.requestPermission()) !== "granted") {
    notice.textContent = texts.blocked;
    return;
  }
  await navigator.serviceWorker.register("/service-worker.js");
  const { pushManager } = await navigator.serviceWorker.ready;
  // One of somebody else who uses this browser, or of an older key.
  await (await pushManager.getSubscription())?.unsubscribe();
  const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: box.dataset.ring });
  const { endpoint, keys } = made.toJSON();
  Object.assign(form.elements.endpoint, { value: endpoint });
  Object.assign(form.elements.p256dh, { value: keys.p256dh });
  Object.assign(form.elements.auth, { value: keys.auth });
  form.elements.label.value ||= browserName();
  form.submit();
}

async function rings() {
  const registration = await navigator.serviceWorker.getRegistration();
  const subscription = await registration?.pushManager.getSubscription();
  if (!subscription) return false;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(subscription.endpoint));
  const written = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return box.dataset.known.split(" ").includes(written);
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  notice.textContent = "";
  try {
    await subscribe();
  } catch {
    notice.textContent = texts.unreachable;
  }
  button.disabled = false;
});

if (!("PushManager" in window)) {
  notice.textContent = window.isSecureContext
    ? texts.unsupported
    : texts.insecure;
} else {
  rings().then((already) => {
    form.hidden = already;
    if (already) notice.textContent = texts.rings;
  });
}
box.hidden = false;
