// Keyboard shortcuts. A dialog lists them; a link in it with data-keys is what these keys open.
const help = document.getElementById("shortcuts");
const TYPED = "input:not([type=checkbox], [type=radio], [type=button], [type=submit]), select, textarea, [contenteditable]";
const PATIENCE = 1500; // milliseconds between the two keys of one shortcut

function move(step) {
  const rows = [...document.querySelectorAll("main .rows > *")];
  const here = rows.indexOf(document.activeElement.closest(".rows > *"));
  const row = rows[here < 0 ? 0 : Math.min(Math.max(here + step, 0), rows.length - 1)];
  row?.querySelector(":is(h2, h3) a, a, summary, button")?.focus();
}

// In the row at hand, or in those parts of a page about one reminder or message that act on it.
function find(selector) {
  const row = document.activeElement.closest(".rows > *");
  const scopes = [row, ...document.querySelectorAll("main .headline, main [data-one]")].filter(Boolean);
  return scopes.map((scope) => scope.querySelector(selector)).find(Boolean);
}
const press = (selector) => find(selector)?.click();

// The times to snooze until: of a message here, of a reminder in a list on its page.
function snooze() {
  const times = find("[data-snooze]");
  if (times) {
    if (times.matches("details")) times.open = true;
    times.querySelector("button")?.focus();
  } else if (document.activeElement.closest(".rows > [id^=reminder-]")) {
    location.assign(`${find("h3 a").href}?snooze`);
  }
}
if (new URLSearchParams(location.search).has("snooze")) snooze();

const shortcuts = {
  "?": () => help.showModal(),
  "/": () => {
    const search = document.querySelector("main input[type=search]");
    if (search) search.focus();
    else document.querySelector("[data-open=palette]").click();
  },
  j: () => move(1),
  k: () => move(-1),
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  d: () => press("button[value=acknowledge]"),
  s: snooze,
  x: () => press(".pick"),
  z: () => document.querySelector(".messages .success button")?.click(),
  e: () => press('a[href$="/edit/"]'),
  p: () => press('form:is([action$="/pause/"], [action$="/resume/"]) button'),
};
for (const link of help.querySelectorAll("[data-keys]")) shortcuts[link.dataset.keys] = () => link.click();
const quickAdd = document.getElementById("id_quick");
if (quickAdd) shortcuts.n = () => quickAdd.focus();
if ("viewer" in document.body.dataset) for (const key of "ndszxep") delete shortcuts[key];

let first = "", timer;
if ("on" in help.dataset) document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches(TYPED) || document.querySelector("dialog[open]")) return;
  // Arrows scroll the page, except from row to row.
  if (event.key.startsWith("Arrow") && !event.target.closest(".rows > *")) return;
  const keys = first + event.key;
  clearTimeout(timer);
  first = "";
  if (Object.hasOwn(shortcuts, keys)) {
    event.preventDefault(); // "/" must not arrive in the field
    shortcuts[keys]();
  } else if (event.key === "g") {
    first = "g ";
    timer = setTimeout(() => { first = ""; }, PATIENCE);
  }
});
document.querySelector("[data-open=shortcuts]")?.addEventListener("click", () => help.showModal());
