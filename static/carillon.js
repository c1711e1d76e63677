// Small helps; every page works without them.

// The browser knows where the person is.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("[data-guess-zone]")) {
  if (!field.value && zone) field.value = zone;
}

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;

// A form that came back is at the first field that needs another look, not at the top of the page.
document.querySelector("main [aria-invalid=true]")?.focus();

// A channel has a place in the order where it is chosen.
const placed = ({ form, value, checked }) => {
  const place = form.elements[`place_${value.replaceAll("-", "")}`]?.closest(".field");
  if (place) place.hidden = !checked && !place.querySelector(".errors p");
};
for (const box of document.querySelectorAll(".channels [name=channels]")) placed(box);

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches(".channels [name=channels]")) placed(event.target);
});

// A double click sends a form once. What htmx sends is its own affair; it has stopped the event by now.
const sent = new WeakSet();
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented) return;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  // Somebody who stopped a slow page, or came back to it, may send it again.
  setTimeout(() => sent.delete(form), 5000);
});

document.addEventListener("click", async (event) => {
  const days = event.target.closest("[data-days]");
  if (days) {
    const wanted = days.dataset.days.split(" ");
    for (const box of days.form.querySelectorAll("input[name=days]")) box.checked = wanted.includes(box.value);
    days.form.dispatchEvent(new CustomEvent("days-set", { bubbles: true }));
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const source = document.getElementById(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      copy.textContent = "Copied";
    } catch {
      // No permission, or no https: select it, so that one keystroke copies it.
      getSelection().selectAllChildren(source);
    }
  }
});

// The preview puts errors at fields and takes them away: a screen reader hears the same as the eye sees.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const { id } = event.detail.target;
  const field = document.getElementById(id.replace(/^error-/, "id_"));
  if (!id.startsWith("error-") || !field?.matches("input, select, textarea")) return;
  const help = document.getElementById(`${field.id}_helptext`);
  const error = document.getElementById(`${field.id}_error`);
  field.toggleAttribute("aria-invalid", false);
  if (error) field.setAttribute("aria-invalid", "true");
  const described = [help, error].filter(Boolean).map((element) => element.id).join(" ");
  if (described) field.setAttribute("aria-describedby", described);
  else field.removeAttribute("aria-describedby");
});
