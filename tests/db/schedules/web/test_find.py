"""The command palette finds pages and a person's reminders."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import resolve

from people import teams
from people.models import Membership, User
from schedules.web import find
from tests.make import make_schedule, make_user, signed_in

pytestmark = pytest.mark.django_db


def test_words_in_any_order_find_ones_own_reminders(browser: Client, ada: User) -> None:
    mine = make_schedule(ada, [], title="Water the plants")
    make_schedule(make_user(), [], title="Water the plants")
    answer = browser.get("/find/", {"q": "PLANTS wat"})
    assert [one.id for one in answer.context["reminders"]] == [mine.id]
    assert answer.context["pages"] == []
    assert list(browser.get("/find/", {"q": "rules"}).context["pages"]) == [("/rules/", "Rules")]
    assert list(browser.get("/find/", {"q": "100% _"}).context["reminders"]) == []


def test_without_words_all_pages_are_listed_and_exist(browser: Client) -> None:
    pages = browser.get("/find/").context["pages"]
    assert len(pages) == len(find.PAGES)
    assert [resolve(address).view_name for address, _ in pages] == [view for view, _ in find.PAGES]


def test_viewers_find_no_page_that_is_refused(ada: User) -> None:
    viewer, team = make_user(), teams.create(ada, "Family")
    Membership.objects.create(team=team, person=viewer, role="viewer")
    browser = signed_in(viewer)
    browser.post("/teams/act/", {"team": team.pk})
    pages = browser.get("/find/").context["pages"]
    assert "/reminders/new/" not in dict(pages)
    assert {address: browser.get(address).status_code for address, _ in pages} == dict.fromkeys(dict(pages), 200)
