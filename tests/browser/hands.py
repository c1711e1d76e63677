"""Two ways to work a page: with the mouse, and with the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

_FURTHEST = 80  # presses of Tab before a field counts as out of reach


class Mouse:
    def press(self, page: Page, target: Locator) -> None:
        target.click()

    def write(self, page: Page, target: Locator, text: str) -> None:
        target.click()
        page.keyboard.press("Control+a")
        page.keyboard.type(text)


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
