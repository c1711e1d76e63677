// Enhancements; every page works without them.

// Suggest the browser's time zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("[data-guess-zone]")) {
  if (field.value || !zone || field.matches("[aria-invalid=true]")) continue;
  field.value = zone;
  // Without a zone the server knew no hour to begin with: as there, a full one, 15 to 75 minutes ahead.
  const at = field.form?.elements.at;
  if (!at || at.value) continue;
  const ahead = new Date(Date.now() + 75 * 60000);
  ahead.setMinutes(-ahead.getTimezoneOffset(), 0, 0);
  at.value = ahead.toISOString().slice(0, 16);
}

for (const element of document.querySelectorAll("[data-needs-script]")) element.hidden = false;

// Focus the first invalid field.
document.querySelector("main [aria-invalid=true]")?.focus();

// Tabs that do not fit scroll: begin with the current one, and a part of the one before it.
const tab = document.querySelector(".tabs [aria-current]");
if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 48;
// Tab shows the whole of one that is cut off. Not the mouse: its click would miss what moves.
tab?.parentElement.addEventListener("focusin", ({ target }) => {
  if (target.matches(":focus-visible")) target.scrollIntoView({ block: "nearest", inline: "nearest" });
});

// Only a chosen channel has a position.
const showPosition = ({ form, value, checked }) => {
  const place = form.elements[`position_${value.replaceAll("-", "")}`]?.closest(".place");
  if (place) place.hidden = !checked && !place.querySelector(".errors p");
};
for (const box of document.querySelectorAll(".channels [name=channels]")) showPosition(box);

// Order the channels by buttons or by dragging; the numbers follow.
const numberPlaces = (list) => {
  const inputs = [...list.querySelectorAll(".place:not([hidden]) input")];
  inputs.forEach((input, index) => { input.value = index + 1; });
  inputs[0]?.dispatchEvent(new Event("input", { bubbles: true }));
};
for (const list of document.querySelectorAll(".places")) {
  const number = (place) => Number(place.querySelector("input").value) || 1000; // as the server: those without one last
  list.append(...[...list.children].sort((a, b) => number(a) - number(b)));
  let dragged = null;
  list.addEventListener("dragstart", (event) => {
    dragged = event.target.closest(".place");
    event.dataTransfer.setDragImage(dragged, 0, 0);
  });
  list.addEventListener("dragover", (event) => {
    const over = event.target.closest(".place");
    if (!dragged || !over) return;
    event.preventDefault();
    const isDown = over.compareDocumentPosition(dragged) & Node.DOCUMENT_POSITION_PRECEDING;
    if (over !== dragged) over[isDown ? "after" : "before"](dragged);
  });
  list.addEventListener("dragend", () => {
    dragged = null;
    numberPlaces(list);
  });
  list.addEventListener("click", ({ target }) => {
    const move = target.closest("[data-move]");
    if (!move) return;
    const place = move.closest(".place");
    const places = [...list.querySelectorAll(".place:not([hidden])")];
    const isDown = move.dataset.move === "down";
    places[places.indexOf(place) + (isDown ? 1 : -1)]?.[isDown ? "after" : "before"](place);
    numberPlaces(list);
    move.focus();
  });
}

// Warn of an order in which the inbox comes first: it never fails, so no other channel would be tried.
const warnOfInbox = ({ form }) => {
  const warning = form?.querySelector("[data-inbox-first]");
  if (!warning) return;
  const { one_by_one, escalate_after } = form.elements;
  const place = (box) => Number(form.elements[`position_${box.value.replaceAll("-", "")}`].value) || 1000;
  const chosen = [...form.querySelectorAll(".channels [name=channels]:checked")];
  const [first] = chosen.sort((a, b) => place(a) - place(b));
  const matters = one_by_one.value === "order" && !escalate_after.value && chosen.length > 1;
  warning.hidden = !matters || !first.closest("[data-kind=inbox]");
};
for (const warning of document.querySelectorAll("[data-inbox-first]")) warnOfInbox({ form: warning.closest("form") });
document.addEventListener("input", ({ target }) => warnOfInbox(target));

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches(".channels [name=channels]")) showPosition(event.target);
});

// Send a form once on a double click. htmx has already prevented the event for its own forms.
const sent = new WeakSet();
let isLeaving = false;
// For five seconds: a slow page may be stopped, and its link or form tried again.
const noteLeaving = () => {
  isLeaving = true;
  setTimeout(() => { isLeaving = false; }, 5000);
};
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented) return;
  if (sent.has(form)) event.preventDefault();
  sent.add(form);
  setTimeout(() => sent.delete(form), 5000);
  noteLeaving();
});

// Leave a page once: a poll that does so beside the answer to a form, or beside another poll, would show the notice of
// the next page twice, or lose it.
document.addEventListener("htmx:beforeOnLoad", (event) => {
  if (!event.detail.xhr.getResponseHeader("HX-Redirect")) return;
  if (isLeaving) event.preventDefault();
  noteLeaving();
});

document.addEventListener("click", async (event) => {
  const days = event.target.closest("[data-days]");
  if (days) {
    const wanted = days.dataset.days.split(" ");
    for (const box of days.form.querySelectorAll("input[name=days]")) box.checked = wanted.includes(box.value);
    days.form.dispatchEvent(new Event("filled"));
  }
  const show = event.target.closest("[data-show]");
  if (show) {
    const hidden = show.getAttribute("aria-pressed") === "true";
    document.getElementById(show.dataset.show).type = hidden ? "password" : "text";
    show.setAttribute("aria-pressed", String(!hidden));
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) {
    const source = document.getElementById(copy.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      copy.textContent = document.body.dataset.copied;
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

const unfold = (element) => {
  for (let details = element.closest("details"); details; details = details.parentElement.closest("details")) details.open = true;
};

// The preview changes field errors.
document.addEventListener("htmx:oobAfterSwap", (event) => {
  const { id } = event.detail.target;
  if (!id.startsWith("error-")) return;
  describe(id.replace("error-", ""));
  const errors = document.getElementById(id);
  if (errors.firstElementChild) unfold(errors);
});

// A field that is being corrected is no longer marked; the preview or the server marks it again.
const unmark = (name) => {
  const errors = document.getElementById(`error-${name}`);
  if (!errors?.firstElementChild) return;
  errors.replaceChildren();
  describe(name);
};
document.addEventListener("input", ({ target }) => unmark(target.name));

// Quick add reads a line a moment after it is typed, but not one that Enter has sent meanwhile.
const line = inputOf("quick");
document.addEventListener("htmx:confirm", (event) => {
  const { elt } = event.detail;
  if (!line || (elt !== line && elt !== line.form)) return;
  if (elt === line && line.value === line.dataset.read) event.preventDefault();
  line.dataset.read = line.value;
});

// Fill the form with what quick add has understood. First take back what the last line filled in, where it still stands.
const filledIn = new Map(); // by the place of the answer: fields with their values before and since
const isTicked = (field) => field.matches("[type=radio], [type=checkbox]");
const valueOf = (field) => (isTicked(field) ? field.checked : field.value);
const setValue = (field, value) => { field[isTicked(field) ? "checked" : "value"] = value; };
document.addEventListener("htmx:afterSwap", ({ target }) => {
  const form = document.getElementById("reminder");
  if (!form || !target.matches(".understood")) return;
  for (const [field, before, since] of filledIn.get(target) ?? []) if (valueOf(field) === since) setValue(field, before);
  const understood = target.querySelector("[data-fill]");
  const fields = understood ? JSON.parse(understood.dataset.fill) : {};
  const filled = [];
  for (const [name, value] of Object.entries(fields)) {
    for (const field of form.querySelectorAll(`[name="${name}"]`)) filled.push([field, valueOf(field), value]);
  }
  for (const one of filled) {
    const [field, , value] = one;
    setValue(field, isTicked(field) ? [value].flat().includes(field.value) : value);
    one[2] = valueOf(field);
    if (one[1] !== one[2]) unfold(field);
    unmark(field.name);
  }
  filledIn.set(target, filled);
  form.dispatchEvent(new Event("filled"));
});

// Say why a request of htmx failed: where its result would be, else beside what made it. htmx shows nothing then.
const failures = new WeakMap();
const tellFailure = ({ detail: { elt, target, xhr } }) => {
  if (elt.hidden) return; // it keeps a list up to date, and asks again
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  const texts = [...page.querySelectorAll("main.landing :is(h1, .lead)")].map((part) => part.textContent.trim());
  const { lost, failed } = document.body.dataset;
  const notice = failures.get(elt) ?? document.createElement("p");
  notice.className = "message error";
  notice.setAttribute("role", "alert");
  notice.textContent = texts.join(". ") || (xhr.status ? failed : lost);
  if (notice.isConnected) return;
  failures.set(elt, notice);
  if (target.matches("[aria-live]")) target.replaceChildren(notice);
  else (elt.closest("p") ?? elt).after(notice);
  if (!elt.matches("[aria-live]")) notice.scrollIntoView({ block: "nearest" }); // a preview asks while somebody types
};
for (const name of ["responseError", "sendError", "timeout"]) document.addEventListener(`htmx:${name}`, tellFailure);
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful) failures.get(detail.elt)?.remove();
});

// Complete the last of several tags: a browser completes the whole field only.
document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-tags]") || !target.list) return;
  const typed = target.value.slice(0, target.value.lastIndexOf(",") + 1);
  const before = typed ? `${typed} ` : "";
  for (const option of target.list.options) {
    option.dataset.tag ??= option.value;
    option.value = before + option.dataset.tag;
  }
});
