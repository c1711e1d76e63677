// The calendar: drag an entry to another day or hour, click on a free place for a new reminder, and stay up to date.
let dragged = null;
const placeOf = (target) => target.closest?.("#days [data-at]") ?? target.closest?.("#days [data-day]");

document.addEventListener("dragstart", (event) => {
  dragged = event.target.closest?.("#days [draggable=true]");
  if (dragged) event.dataTransfer.effectAllowed = "move";
});

document.addEventListener("dragover", (event) => {
  const over = dragged && placeOf(event.target);
  for (const place of document.querySelectorAll("#days .over")) if (place !== over) place.classList.remove("over");
  if (!over) return;
  event.preventDefault();
  over.classList.add("over");
});

// The page behind “Move…” decides, the same for everybody; it asks what to move of a reminder that repeats.
document.addEventListener("drop", (event) => {
  const place = dragged && placeOf(event.target);
  if (!place) return;
  event.preventDefault();
  if (place === placeOf(dragged)) return;
  const { day } = place.closest("[data-day]").dataset;
  const [hour, minute] = dragged.querySelector("time").textContent.split(":");
  const time = `${place.dataset.at?.slice(0, 2) ?? hour}:${minute}`;
  const link = new URL(dragged.querySelector("[data-move]").href);
  const { version } = dragged.dataset;
  if (version) {
    const form = document.getElementById("mover");
    for (const [name, value] of Object.entries({ date: day, time, version })) form.elements[name].value = value;
    form.action = link.pathname;
    form.requestSubmit();
  } else {
    link.searchParams.set("date", day);
    link.searchParams.set("time", time);
    location.assign(link);
  }
});

document.addEventListener("dragend", () => {
  dragged = null;
  for (const place of document.querySelectorAll("#days .over")) place.classList.remove("over");
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".hour")?.querySelector(".slot") ?? event.target.closest?.("#days [data-day]")?.querySelector("[data-new]");
  if (link && !event.target.closest(".entry, a") && !getSelection().toString()) link.click();
});

// As live.js tells; not while somebody drags.
document.body.addEventListener("changed", () => {
  if (dragged) return;
  htmx.ajax("GET", location.href, { target: "#days", select: "#days", swap: "outerHTML" });
});
