// The calendar: drag an entry to another day, click on a free place of a day for a new reminder, and stay up to date.
let dragged = null;
const dayOf = (target) => target.closest?.("#days [data-day]");

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.("[data-move]");
  if (dragged) event.dataTransfer.effectAllowed = "move";
});

document.addEventListener("dragover", (event) => {
  const over = dragged && dayOf(event.target);
  for (const day of document.querySelectorAll("#days .over")) if (day !== over) day.classList.remove("over");
  if (!over) return;
  event.preventDefault();
  over.classList.add("over");
});

// The form of “Move…” does it, so the server decides the same for everybody.
document.addEventListener("drop", (event) => {
  const day = dragged && dayOf(event.target);
  if (!day) return;
  event.preventDefault();
  if (day === dayOf(dragged)) return;
  const form = dragged.querySelector("form");
  const { date } = form.elements;
  date.removeAttribute("min");
  date.value = day.dataset.day;
  form.requestSubmit();
});

document.addEventListener("dragend", () => {
  dragged = null;
  for (const day of document.querySelectorAll("#days .over")) day.classList.remove("over");
});

document.addEventListener("click", (event) => {
  const link = dayOf(event.target)?.querySelector("[data-new]");
  if (link && !event.target.closest(".entry, a") && !getSelection().toString()) link.click();
});

// As live.js tells; not while somebody types or drags.
document.body.addEventListener("changed", () => {
  if (dragged || document.querySelector("#days details[open]")) return;
  htmx.ajax("GET", location.href, { target: "#days", select: "#days", swap: "outerHTML" });
});
