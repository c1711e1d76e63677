{% load static %}// Shows pushed messages with Done and Snooze, and a notice where there is no network.
const CACHE = "offline-2";
const KEPT = ["/offline/", '{% static "carillon.css" %}', '{% static "icon-192.png" %}'];
const ANSWERS = { done: "acknowledge", snooze: "10-minutes" }; // what the answer page takes

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(KEPT)));
});

self.addEventListener("activate", (event) => {
  const old = caches.keys().then((names) => names.filter((name) => name !== CACHE));
  event.waitUntil(old.then((names) => Promise.all(names.map((name) => caches.delete(name)))));
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.mode === "navigate" && request.method === "GET") {
    event.respondWith(fetch(request).catch(() => caches.match(KEPT[0])));
  }
});

self.addEventListener("push", (event) => event.waitUntil(show(event.data.json())));
self.addEventListener("notificationclick", (event) => event.waitUntil(act(event.notification, event.action)));

async function show({ tag, title, body, image, open, answer, stop, closed, said, snoozes = [] }) {
  if (closed) {
    // Browsers want each push to show something, so it is replaced without a sound before it is closed.
    await registration.showNotification(closed, { tag, silent: true });
    for (const shown of await registration.getNotifications({ tag })) shown.close();
  } else {
    const actions = [];
    if (answer) actions.push({ action: "done", title: said.done }, { action: "snooze", title: said.snooze });
    if (stop) actions.push({ action: "stop", title: said.stop });
    if (answer) actions.push(...snoozes.map(([action, title]) => ({ action, title })));
    actions.length = Math.min(actions.length, Notification.maxActions ?? 2);
    const icon = '{% static "icon-192.png" %}', badge = '{% static "badge.png" %}';
    const data = { open, answer, stop, said };
    await registration.showNotification(title, { tag, body, image, actions, icon, badge, data });
  }
  for (const page of await clients.matchAll({ type: "window" })) page.postMessage("changed");
}

async function act(notification, action) {
  const { tag, title, data } = notification;
  notification.close();
  if (action && action !== "stop") {
    const body = new URLSearchParams({ answer: ANSWERS[action] ?? action, from: "push" });
    const options = { method: "POST", body, credentials: "omit", redirect: "manual" };
    const answer = await fetch(data.answer, options).catch(() => null);
    if (answer?.type === "opaqueredirect") return; // to the page that says so
    await registration.showNotification(data.said.failed, { tag, body: data.said.again.replace("#", title), data });
    return;
  }
  const address = new URL((action === "stop" ? data.stop : data.open) || "/inbox/", location.origin).href;
  const pages = await clients.matchAll({ type: "window" });
  const there = pages.find((page) => page.url === address);
  await (there ? there.focus() : clients.openWindow(address));
}
