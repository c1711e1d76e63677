// Runs before htmx, whose inline style sheet the Content-Security-Policy forbids; carillon-admin.css has the rules.
htmx.config.includeIndicatorStyles = false;

// django-unfold calls each of its scrollable regions the same. Its own script, which comes later, reads these names.
document.addEventListener("DOMContentLoaded", () => {
  const { navigation, filters, table } = document.getElementById("page")?.dataset ?? {};
  let tables = 0;
  for (const region of document.querySelectorAll("[data-simplebar]")) {
    if (region.closest("#nav-sidebar")) region.dataset.simplebarAriaLabel = navigation;
    else if (region.closest("#changelist-filter")) region.dataset.simplebarAriaLabel = filters;
    else region.dataset.simplebarAriaLabel = `${table} ${(tables += 1)}`;
  }
});

// Django's scripts add fields and icons later, without names.
const nameParts = () => {
  for (const icon of document.querySelectorAll(".search-label-icon:not([role])")) icon.setAttribute("role", "img");
  for (const select of document.querySelectorAll("select.admin-autocomplete")) {
    const label = document.querySelector(`label[for="${select.id}"]`);
    const parts = select.nextElementSibling?.querySelectorAll("[role=combobox], [role=textbox], input:not([aria-label])");
    if (!label || !parts) continue;
    label.id ||= `${select.id}_label`;
    for (const part of parts) part.setAttribute("aria-labelledby", label.id);
  }
};
new MutationObserver(nameParts).observe(document, { childList: true, subtree: true });

// As in live.js: nothing of a session that has ended stays on the screen.
async function leaveOnceOver() {
  // Where nobody was signed in, there is nothing to leave. A popup has no button to sign out.
  if (!document.querySelector('form[action$="/logout/"], body.popup')) return;
  const answer = await fetch("/inbox/state/", { redirect: "manual" }).catch(() => null);
  if (answer?.type !== "opaqueredirect") return;
  document.body.replaceChildren();
  location.replace(location.pathname + location.search);
}
document.addEventListener("visibilitychange", () => document.hidden || leaveOnceOver());
setInterval(leaveOnceOver, 60_000);
