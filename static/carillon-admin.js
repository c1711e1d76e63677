// Runs before htmx, whose inline style sheet the Content-Security-Policy forbids; carillon-admin.css has the rules.
htmx.config.includeIndicatorStyles = false;

// django-unfold calls each of its scrollable regions the same. Its own script, which comes later, reads this.
addEventListener("DOMContentLoaded", () => {
  const { navigation, filters } = document.getElementById("page")?.dataset ?? {};
  for (const region of document.querySelectorAll("[data-simplebar]")) {
    region.dataset.simplebarAriaLabel = region.closest("#nav-sidebar") ? navigation : filters;
  }
});

// select2 gives the parts of its fields no names.
addEventListener("load", () => {
  for (const select of document.querySelectorAll("select.admin-autocomplete")) {
    const label = document.querySelector(`label[for="${select.id}"]`);
    if (!label) continue;
    label.id ||= `${select.id}_label`;
    for (const part of select.nextElementSibling?.querySelectorAll("[role=combobox], [role=textbox], input") ?? []) {
      part.setAttribute("aria-labelledby", label.id);
    }
  }
});
