// The command palette: Ctrl+K or Cmd+K opens it, the server finds, arrows choose, Enter opens.
const palette = document.getElementById("palette");
const typed = document.getElementById("palette-typed");
const results = document.getElementById("palette-found");
let isEager = false; // Enter came before what it is to open

function open() {
  isEager = false;
  palette.showModal();
  typed.select();
  htmx.trigger(typed, "find");
}

function openFirst() {
  isEager = results.firstElementChild?.dataset.typed !== typed.value;
  if (!isEager) results.querySelector("a")?.click();
}

palette.addEventListener("keydown", (event) => {
  const links = [...results.querySelectorAll("a")];
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    const at = links.indexOf(document.activeElement) + step;
    (at < 0 ? typed : links[Math.min(at, links.length - 1)])?.focus();
  } else if (event.key === "Enter" && event.target === typed) {
    event.preventDefault();
    openFirst();
  }
});
results.addEventListener("htmx:afterSwap", () => { if (isEager) openFirst(); });
palette.addEventListener("click", ({ target }) => { if (target === palette) palette.close(); }); // beside it
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
  event.preventDefault();
  if (!document.querySelector("dialog[open]")) open();
});
document.querySelector("[data-open=palette]").addEventListener("click", open);
