"""Ways to work a page: with the keyboard alone, and by dragging."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import Error, Locator, Page

_FURTHEST = 80  # presses of Tab before a field counts as out of reach


class Keyboard:
    """Goes from field to field by Tab, so what it cannot reach, nobody can who has no mouse."""

    def press(self, page: Page, target: Locator) -> None:
        self.reach(page, target)
        page.keyboard.press("Enter")

    def write(self, page: Page, target: Locator, text: str) -> None:
        self.reach(page, target)
        page.keyboard.press("Control+a")
        page.keyboard.type(text)

    def reach(self, page: Page, target: Locator) -> None:
        target.wait_for()
        for _ in range(_FURTHEST):
            if target.evaluate("element => element === document.activeElement"):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"{target} cannot be reached by Tab")


def drag(what: Locator, to: Locator) -> None:
    """Again if it was lost: Playwright gives up where `dragstart` comes a moment after the pointer has moved.

    What is left then is a click, which may open another page.
    """
    page, address = what.page, what.page.url
    for _ in range(10):
        page.evaluate("isOver = false; addEventListener('dragover', () => { isOver = true; }, true)")
        what.drag_to(to)
        try:
            is_lost = page.evaluate("window.isOver === false")
        except Error:  # the next page comes
            is_lost = False
        page.wait_for_timeout(300 if is_lost else 0)
        page.wait_for_load_state()
        if urlsplit(page.url).path != urlsplit(address).path:
            page.goto(address)
        elif not is_lost:
            return
