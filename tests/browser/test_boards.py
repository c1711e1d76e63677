"""Two people at one board, of whom one is removed while both look."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from demo.installation import Installation
from tests.browser.conftest import fits, opened
from tests.browser.test_channels import sign_up

pytestmark = pytest.mark.browser


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """Somebody else's browser; its complaints are looked at by the test."""
    with opened(browser, 1280) as page:
        yield page


def make_board(page: Page, site: Installation) -> tuple[str, str]:
    """Make a team with a board; returns the paths of the team and of the board."""
    page.goto(f"{site.url}/teams/")
    page.get_by_label("Name").fill("Family")
    page.get_by_role("button", name="Create team").click()
    expect(page.get_by_text("you act for it")).to_be_visible()
    team = page.url
    page.get_by_role("link", name="Boards").click()
    page.get_by_role("link", name="New board").click()
    page.locator("[name=label]").fill("Kitchen")
    page.get_by_role("button", name="Add channel").click()
    page.goto(f"{site.url}/boards/")
    page.get_by_role("link", name="Kitchen").click()
    expect(page.get_by_text("Nothing is written here yet")).to_be_visible()
    return team, page.url


def join(owner: Page, team: str, member: Page) -> None:
    owner.goto(team)
    owner.get_by_role("button", name="Invite").click()
    member.goto(owner.locator("#join-link").inner_text())
    member.get_by_role("button", name="Join").click()
    expect(member.get_by_text("Acting for")).to_be_visible()


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_two_people_write_and_one_is_removed_while_both_look(page: Page, other: Page, site: Installation) -> None:
    sign_up(page, site, "host@example.org")
    sign_up(other, site, "guest@example.org")
    team, board = make_board(page, site)
    join(page, team, other)
    page.goto(board)
    other.goto(board)
    for one in (page, other):
        expect(one.get_by_text("2 here")).to_be_visible()
    write(page, "Milk is out")
    messages = other.locator("#messages li")
    expect(messages).to_have_count(1)
    expect(messages.first).to_contain_text("Milk is out")
    other.get_by_role("textbox", name="Message").fill("half a li")  # what is typed stays while messages come
    write(page, "And bread")
    expect(messages).to_have_count(2)
    expect(other.get_by_role("textbox", name="Message")).to_have_value("half a li")
    write(other, "I go")
    expect(page.locator("#messages li").first).to_contain_text("I go")
    expect(page.locator("#messages li")).to_have_count(3)
    fits(page)

    tab = page.context.new_page()
    tab.goto(team)
    tab.get_by_role("button", name="Remove Ada").first.click()
    expect(other.get_by_text("You are no longer a member of this team.")).to_be_visible()
    expect(other.get_by_text("Milk is out")).to_have_count(0)
    expect(page.get_by_text("1 here")).to_be_visible()
    expect(page.locator("#messages li")).to_have_count(3)
    write(page, "Gone")
    expect(page.locator("#messages li")).to_have_count(4)
    tab.close()


def test_a_board_that_is_removed_while_somebody_looks_ends_without_an_error(other: Page, site: Installation) -> None:
    errors: list[str] = []
    other.on("pageerror", lambda error: errors.append(str(error)))
    sign_up(other, site, "remover@example.org")
    other.goto(f"{site.url}/channels/new/board/")
    other.get_by_role("button", name="Add channel").click()
    expect(other.get_by_text("1 here")).to_be_visible()
    tab = other.context.new_page()
    tab.goto(other.url.replace("/boards/", "/channels/") + "remove/")
    tab.locator("main form button").first.click()
    expect(tab).to_have_url(f"{site.url}/channels/")
    expect(other.get_by_role("heading", name="Not found")).to_be_visible()
    assert errors == []
