// Change the theme without leaving the page. Without this script, the form reloads it.
const themes = document.querySelector("form.theme");
themes?.addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = event.submitter;
  document.documentElement.dataset.theme = chosen.value;
  document.querySelector("meta[name=color-scheme]").content = chosen.value === "system" ? "light dark" : chosen.value;
  for (const button of themes.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button === chosen));
  // Its cookie and the account; the answer, a redirect, is not needed.
  fetch(themes.action, { method: "POST", body: new FormData(themes, chosen), redirect: "manual", keepalive: true });
});
