"""Badges: who sees what of a watch's state."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from django.test import Client
from pytest_django import Settings

from people.models import User
from tests.db.watches.test_pings import HOUR, ping, set_back
from tests.make import make_user, make_watch, signed_in
from watches import changes
from watches.models import Badge


def badge_of(ada: User, **changed: str) -> tuple[Badge, str]:
    watch = make_watch(ada, [], **changed)
    badge = Badge.objects.create(user=ada, watch=watch)
    return badge, f"/badge/{badge.token}"


def test_its_picture_and_its_json_show_the_state(client: Client, ada: User) -> None:
    badge, url = badge_of(ada, name="Backup <script>&")
    assert badge.watch is not None
    answer = client.get(f"{url}.svg")
    assert answer["Content-Type"] == "image/svg+xml"
    assert "no-store" in answer["Cache-Control"]
    root = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
    assert root.get("aria-label") == "Backup <script>&: new"
    ping(badge.watch)
    shown = {"status": "up", "total": 1, "down": 0, "late": 0, "up": 1, "paused": 0, "new": 0}
    assert client.get(f"{url}.json").json() == shown
    set_back(badge.watch, HOUR)
    assert client.get(f"{url}.json").json()["status"] == "late"
    ping(badge.watch, "fail")
    shields = client.get(f"{url}.shields").json()
    assert (shields["schemaVersion"], shields["label"], shields["message"]) == (1, "Backup <script>&", "down")


def test_its_picture_is_xml_whatever_its_name_holds(client: Client, ada: User) -> None:
    _, url = badge_of(ada, name="a\x01b\ufffe")
    answer = client.get(f"{url}.svg")
    assert ElementTree.fromstring(answer.content).get("aria-label") == "ab: new"  # noqa: S314 - our own


def test_that_of_a_tag_shows_the_worst_state(client: Client, ada: User) -> None:
    badge = Badge.objects.create(user=ada, tag="db")
    for kind in ("success", "fail"):
        ping(make_watch(ada, [], tags=["db", "night"]), kind)
    ping(make_watch(ada, [], tags=["web"]), "fail")
    ping(make_watch(make_user(), [], tags=["db"]), "fail")
    found = client.get(f"/badge/{badge.token}.json").json()
    assert (found["status"], found["total"], found["down"], found["up"]) == ("down", 2, 1, 1)


def test_a_new_address_ends_the_old_one(browser: Client, client: Client, ada: User) -> None:
    badge, url = badge_of(ada)
    page = browser.get("/watches/badges/").content.decode()
    assert page.index("<details") < page.index("/renew/") < page.index("/delete/") < page.index("</details>")
    browser.post(f"/watches/badges/{badge.id}/renew/")
    assert client.get(f"{url}.svg").status_code == 404
    badge.refresh_from_db()
    assert client.get(f"/badge/{badge.token}.svg").status_code == 200
    assert client.get(f"/badge/{badge.token}.png").status_code == 404
    browser.post(f"/watches/badges/{badge.id}/delete/")
    assert not Badge.objects.exists()


@pytest.mark.parametrize("gone", ["watch", "owner"])
def test_nothing_is_shown_of_what_is_gone(client: Client, ada: User, gone: str) -> None:
    badge, url = badge_of(ada)
    assert badge.watch is not None
    if gone == "watch":
        changes.delete(badge.watch.id)
    else:
        User.objects.filter(id=ada.id).update(is_active=False)
    assert client.get(f"{url}.svg").status_code == 404


def test_one_is_made_on_the_page_for_a_watch_and_a_tag_and_once_only(browser: Client, ada: User) -> None:
    watch = make_watch(ada, [], tags=["db"])
    assert "none yet" in browser.get("/watches/badges/").content.decode()
    for data in ({"watch": str(watch.id)}, {"tag": "db"}) * 2:
        browser.post("/watches/badges/new/", data)
    for tag in ("d\x01b", "unused", "x" * 31):
        assert browser.post("/watches/badges/new/", {"tag": tag}).status_code == 404
    assert Badge.objects.count() == 2
    page = browser.get("/watches/badges/").content.decode()
    assert all(badge.url in page for badge in Badge.objects.all())
    assert Badge.objects.get(watch=watch).token in browser.get(f"/watches/{watch.id}/").content.decode()
    assert signed_in().post("/watches/badges/new/", {"watch": str(watch.id)}).status_code == 404


def test_a_badge_too_many_is_refused_on_the_page(browser: Client, ada: User, settings: Settings) -> None:
    watch, settings.MOST_WATCHES = make_watch(ada, []), 0
    page = browser.post("/watches/badges/new/", {"watch": str(watch.id)}, follow=True).content.decode()
    assert "You have 0 badges, the limit." in page and not Badge.objects.exists()
