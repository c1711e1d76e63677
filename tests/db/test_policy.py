"""Pages hold no script and no style sheet of their own, so the Content-Security-Policy needs no nonce for any."""

from __future__ import annotations

from django.test import Client

from tests.db.conftest import Story
from tests.db.walking import Page, walk
from tests.make import signed_in


def complaints(pages: dict[str, Page], styled: bool = False) -> dict[str, list[str]]:
    found = {path: page.inline + page.foreign + ([] if styled else page.styled) for path, page in pages.items()}
    return {path: parts for path, parts in found.items() if parts}


def test_no_page_of_a_stranger_holds_anything_inline() -> None:
    pages = dict(walk(Client(), "/", "/account/password/reset/", "/account/second-factor/authenticate/"))
    assert {"/", "/account/login/", "/account/signup/", "/account/password/reset/"} <= pages.keys()
    assert complaints(pages) == {}


def test_no_page_of_a_person_holds_anything_inline(story: Story) -> None:
    client = signed_in(story.person)
    pages = dict(walk(client, "/", "/account/second-factor/", "/account/password/change/", "/account/logout/"))
    assert {"/settings/", "/history/", "/inbox/", "/channels/", "/reminders/new/", "/account/email/"} <= pages.keys()
    assert f"/reminders/{story.schedule.id}/" in pages
    assert len(pages) > 20
    assert complaints(pages) == {}


def test_no_page_of_the_admin_holds_a_script_or_a_style_sheet(operator: Client, story: Story) -> None:
    pages = dict(walk(operator, "/admin/"))
    assert f"/admin/notifications/delivery/{story.dead.id}/change/" in pages
    assert "/admin/outages/" in pages
    assert len(pages) > 60
    assert complaints(pages, styled=True) == {}
