// The list of reminders: choose all, say how many are chosen, keep them chosen when the list refreshes itself.
const picks = () => [...document.querySelectorAll(".pick")];
const all = document.querySelector("[data-choose-all]");
const counter = document.querySelector("[data-chosen]");
const chosen = new Set();
const counted = counter?.dataset.counted;

const showChosen = () => {
  chosen.clear();
  for (const box of picks()) if (box.checked) chosen.add(box.value);
  all.checked = chosen.size > 0 && picks().every((box) => box.checked);
  all.indeterminate = chosen.size > 0 && !all.checked;
  if (counter && chosen.size) counter.textContent = counted.replace("0", chosen.size);
};
if (all) {
  all.addEventListener("change", () => {
    for (const box of picks()) box.checked = all.checked;
    showChosen();
  });
  document.addEventListener("change", ({ target }) => {
    if (target.matches(".pick")) showChosen();
  });
  document.addEventListener("htmx:oobAfterSwap", () => {
    for (const box of picks()) box.checked = chosen.has(box.value);
    showChosen();
  });
}
