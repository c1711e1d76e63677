"""axe-core on an open page. Texts in colours that an earlier page has shown, and parts that scroll alike, are not
measured again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from playwright.sync_api import Page

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text()
WIDTHS = (1280, 360)
# For texts in colours that no page before has shown, for what scrolls as nothing before, and for all others once.
_OF_COLOURS = ("color-contrast", "link-in-text-block")
_OF_SCROLLING = ("scrollable-region-focusable",)
# What decides about the colours of each text: its own, those that it lies on, its size, and what a link differs by. The
# texts of each stay in `texts`, for the look at them.
_SHOWN = """(left) => {
  const root = document.documentElement;
  window.show = (scheme) => {  // as a person who prefers it, or who chose it in the admin; as before without one
    if (document.querySelector("[x-data]")) root.classList.toggle("dark", scheme === "dark");
    else root.style.colorScheme = scheme ?? "";
    for (const animation of document.getAnimations()) animation.finish();
  };
  const focusable = "a[href], button, input, select, textarea, summary, [tabindex]";
  const scrolling = new Set();
  for (const one of document.querySelectorAll("*")) {
    if (one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight) continue;
    if (!/auto|scroll/.test(getComputedStyle(one).overflow)) continue;
    scrolling.add(`${one.localName}.${one.className} ${one.tabIndex} ${one.querySelector(focusable) !== null}`);
  }
  const coloured = (scheme) => {
    show(scheme);
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
    const texts = new Map();
    for (const one of document.body.querySelectorAll("*")) {
      const speaks = one.matches("input, select, textarea")
        || [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (!speaks || (left && one.closest(left)) || !one.checkVisibility()) continue;
      const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
      const large = parseFloat(fontSize) >= (fontWeight < 700 ? 24 : 18.66);  // which needs less of a contrast
      const off = one.matches(":disabled, [aria-disabled=true] *") || one.closest("label")?.control?.disabled;
      const short = one.textContent.trim().length === 1;  // which axe does not judge
      let told = `${short} ${color} ${large} ${textShadow} ${off} ${ground(one)}`;
      const link = one.closest("a");
      if (link && link.parentElement.textContent.trim() !== link.textContent.trim()) {
        const { color, display, textDecorationLine, borderBottomWidth, fontSize, fontWeight } = getComputedStyle(link);
        const around = getComputedStyle(link.parentElement).color;
        told += `${color} ${display} ${textDecorationLine} ${borderBottomWidth} ${fontSize} ${fontWeight} ${around}`;
      }
      texts.set(told, [...texts.get(told) ?? [], link ?? one]);
    }
    return texts;
  };
  window.texts = { light: coloured("light"), dark: coloured("dark") };
  show();
  const shown = Object.values(texts).map((found) => [...found.keys()].join("\\0"));
  return [...shown, [...scrolling].join("\\0"), root.scrollWidth];
}"""
_LOOK = """async ([rules, scheme, colours, left]) => {
  const given = {resultTypes: ["violations"], preload: false, ...rules};
  const context = {include: [document], exclude: left ? [[left]] : []};
  // A script of the page may have replaced some of them since.
  const there = colours.flatMap((one) => texts[scheme].get(one)).filter((one) => one.isConnected);
  if (there.length) {
    context.include = there;
    show(scheme);
    // Even for one text, axe measures all that can be seen.
    const others = new CSSStyleSheet();
    if (left) others.replaceSync(`${left} { display: none !important }`);
    document.adoptedStyleSheets = [others];
  }
  const { violations } = await axe.run(context, given);
  document.adoptedStyleSheets = [];
  show();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}"""


def violations(page: Page, seen: set[str], widths: Sequence[int], fully: int, left: str | None = None) -> Iterator[str]:
    """All that axe finds in light and dark colours outside of `left`, and widths that are more than the screen's.

    `seen`: what was measured on all pages. `fully`: the width of the rules that need one look.
    """
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        *shown, scrolling, wide = page.evaluate(_SHOWN, left)
        if wide > width:
            yield f"{wide} px wide at {width} px"
        runs: list[tuple[dict[str, Any], str, list[str]]] = []
        if width == fully:
            runs.append(({"rules": {rule: {"enabled": False} for rule in _OF_COLOURS + _OF_SCROLLING}}, "", []))
        for scheme, found in zip(("light", "dark"), shown, strict=True):
            if new := _new(found, seen):
                runs.append((_only(_OF_COLOURS), scheme, new))
        if _new(scrolling, seen):
            runs.append((_only(_OF_SCROLLING), "", []))
        for rules, scheme, colours in runs:
            for told in page.evaluate(_LOOK, [rules, scheme, colours, left]):
                yield f"{scheme} {width} px: {told}"


def _only(rules: Sequence[str]) -> dict[str, Any]:
    return {"runOnly": {"type": "rule", "values": rules}}


def _new(found: str, seen: set[str]) -> list[str]:
    new = [one for one in found.split("\0") if one and one not in seen]
    seen.update(new)
    return new
