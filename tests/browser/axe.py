"""axe-core on an open page. Texts in colours that an earlier page has shown are not measured again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Literal

from playwright.sync_api import Page

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
Look = tuple[Literal["light", "dark"], int]
"""A colour scheme and a width."""
# The first are checked of texts in colours that no page before has shown; the second once for each width, where
# something scrolls; all others once for each page.
_OF_COLOURS = ("color-contrast", "link-in-text-block")
_OF_SCROLLING = ("scrollable-region-focusable",)
# Long parts that are alike are looked at once: in the reference of the API the first group of operations and the first
# document.
ALIKE = [".api-tag ~ .api-tag ~ section:not([id^=schema-])", "section[id^=schema-] ~ section"]
# What decides about the colours of each text: its own, those that it lies on, its size, and what a link differs by. The
# texts of each stay in `texts`, for the look at them.
_COLOURS = """([dark, alike]) => {
  if (document.querySelector("[x-data]")) document.documentElement.classList.toggle("dark", dark);
  for (const animation of document.getAnimations()) animation.finish();
  const grounds = new Map([[null, ""]]);
  const ground = (one) => {
    if (!grounds.has(one)) {
      const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(one);
      const over = ["absolute", "fixed"].includes(position) ? one.getAttribute("class") : "";
      const own = `${backgroundColor} ${backgroundImage} ${opacity < 1 ? `faded ${opacity}` : ""} ${over};`;
      const below = ground(one.parentElement);
      const hides = !/a|\\//.test(backgroundColor) && !`${own}${below}`.includes("faded");
      grounds.set(one, (own === "rgba(0, 0, 0, 0) none  ;" ? "" : own) + (hides ? "" : below));
    }
    return grounds.get(one);
  };
  window.texts = new Map();
  for (const one of document.body.querySelectorAll("*")) {
    const speaks = one.matches("input, select, textarea")
      || [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!speaks || one.closest(alike.join()) || !one.checkVisibility()) continue;
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const off = one.matches(":disabled, [aria-disabled=true] *") || one.closest("label")?.control?.disabled;
    const short = one.textContent.trim().length === 1;  // which axe does not judge
    let told = `${short} ${color} ${fontSize} ${fontWeight} ${textShadow} ${off} ${ground(one)}`;
    const link = one.closest("a");
    if (link) {
      const { color, display, textDecorationLine, borderBottomWidth, fontWeight } = getComputedStyle(link);
      const alone = link.parentElement.textContent.trim() === link.textContent.trim();
      const around = getComputedStyle(link.parentElement);
      told += `${color} ${display} ${textDecorationLine} ${borderBottomWidth} ${fontWeight} ${alone} ${around.color}`;
    }
    window.texts.set(told, [...window.texts.get(told) ?? [], link ?? one]);
  }
  const scrolls = [...document.querySelectorAll("*")].some((one) =>
    (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
    && /auto|scroll/.test(getComputedStyle(one).overflow));
  return [[...window.texts.keys()], scrolls, document.documentElement.scrollWidth];
}"""
_LOOK = """async ([rules, colours, alike]) => {
  const given = {resultTypes: ["violations"], preload: false, ...rules};
  const context = {exclude: alike.map((one) => [one])};
  // A script of the page may have replaced some of them since.
  const there = (colours ?? []).flatMap((one) => window.texts.get(one)).filter((one) => one.isConnected);
  if (there.length) {
    context.include = there;
    // Even for one text, axe measures all that can be seen.
    const others = new CSSStyleSheet();
    others.replaceSync(`${alike} { display: none !important }`);
    document.adoptedStyleSheets = [others];
  }
  const { violations } = await axe.run(context, given);
  document.adoptedStyleSheets = [];
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""


def violations(page: Page, seen: set[str], looks: Sequence[Look], alike: Sequence[str] = ALIKE) -> Iterator[str]:
    """All that axe finds outside of the parts that are looked at elsewhere; `seen` are the colours of all pages.

    The page is shown as in the first of the looks.
    """
    for number, (scheme, width) in enumerate(looks):
        before = looks[max(number - 1, 0)]
        if scheme != before[0]:
            page.emulate_media(color_scheme=scheme)
        if width != before[1]:
            page.set_viewport_size({"width": width, "height": 800})
        shown, scrolls, wide = page.evaluate(_COLOURS, [scheme == "dark", alike])
        if wide > width:
            yield f"{wide} px wide at {width} px"
        runs: list[tuple[dict[str, Any], list[str] | None]] = []
        if number == 0:
            runs.append(({"rules": {rule: {"enabled": False} for rule in _OF_COLOURS}}, None))
        if new := [colours for colours in shown if colours not in seen]:
            runs.append(({"runOnly": {"type": "rule", "values": _OF_COLOURS}}, new))
            seen.update(new)
        if scrolls and number == 1 and width != before[1]:
            runs.append(({"runOnly": {"type": "rule", "values": _OF_SCROLLING}}, None))
        for rules, colours in runs:
            for told in page.evaluate(_LOOK, [rules, colours, alike]):
                yield f"{scheme}, {width} px: {told}"
