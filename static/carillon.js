// Enhancements; every page works without them.

// Suggest the browser's time zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("[data-guess-zone]")) {
  if (!field.value && zone) field.value = zone;
}

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;

// On a narrow screen the navigation scrolls: show the current entry.
const here = document.querySelector(".top nav [aria-current]");
if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 40;

// Focus the first invalid field.
document.querySelector("main [aria-invalid=true]")?.focus();

// Only a chosen channel has a position.
const showPosition = ({ form, value, checked }) => {
  const position = form.elements[`position_${value.replaceAll("-", "")}`]?.closest(".field");
  if (position) position.hidden = !checked && !position.querySelector(".errors p");
};
for (const box of document.querySelectorAll(".channels [name=channels]")) showPosition(box);

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches(".channels [name=channels]")) showPosition(event.target);
});

// Send a form once on a double click. htmx has already prevented the event for its own forms.
const sent = new WeakSet();
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented) return;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  // Allow another try later, for example after a slow page was stopped.
  setTimeout(() => sent.delete(form), 5000);
});

document.addEventListener("click", async (event) => {
  const days = event.target.closest("[data-days]");
  if (days) {
    const wanted = days.dataset.days.split(" ");
    for (const box of days.form.querySelectorAll("input[name=days]")) box.checked = wanted.includes(box.value);
    days.form.dispatchEvent(new Event("filled"));
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const source = document.getElementById(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      copy.textContent = "Copied";
    } catch {
      // No permission or no https: select the text instead.
      getSelection().selectAllChildren(source);
    }
  }
});

const inputOf = (name) => document.getElementById(`id_${name}`);

// Keep the ARIA attributes of a field in step with its error.
const describe = (name) => {
  const field = inputOf(name);
  if (!field?.matches("input, select, textarea")) return;
  const help = document.getElementById(`${field.id}_helptext`);
  const error = document.getElementById(`${field.id}_error`);
  field.toggleAttribute("aria-invalid", false);
  if (error) field.setAttribute("aria-invalid", "true");
  const described = [help, error].filter(Boolean).map((element) => element.id).join(" ");
  if (described) field.setAttribute("aria-describedby", described);
  else field.removeAttribute("aria-describedby");
};

// The preview changes field errors.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const { id } = event.detail.target;
  if (id.startsWith("error-")) describe(id.replace("error-", ""));
});

// A field that is being corrected is no longer marked; the preview or the server marks it again.
const unmark = (name) => {
  const errors = document.getElementById(`error-${name}`);
  if (!errors?.firstElementChild) return;
  errors.replaceChildren();
  describe(name);
};
document.addEventListener("input", ({ target }) => unmark(target.name));

// Fill the form with what quick add has understood.
document.addEventListener("htmx:afterSwap", ({ target }) => {
  const understood = target.querySelector("[data-fill]");
  const form = document.getElementById("reminder");
  if (!understood || !form) return;
  for (const [name, value] of Object.entries(JSON.parse(understood.dataset.fill))) {
    for (const field of form.querySelectorAll(`[name="${name}"]`)) {
      if (field.matches("[type=radio], [type=checkbox]")) field.checked = [value].flat().includes(field.value);
      else field.value = value;
      const details = field.closest("details");
      if (details && value) details.open = true;
    }
    unmark(name);
  }
  form.dispatchEvent(new Event("filled"));
});
