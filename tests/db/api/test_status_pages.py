"""Status pages, their incidents and badges over the API."""

from __future__ import annotations

import pytest
from django.test import Client

from people.models import User
from tests.db.api.conftest import Api
from tests.make import make_user, make_watch
from watches.models import Badge, StatusMail, StatusPage
from watches.status_pages import status

pytestmark = pytest.mark.django_db


def test_a_page_is_made_read_changed_and_deleted(api: Api, ada: User, client: Client) -> None:
    watch, other = make_watch(ada, [], name="Shop"), make_watch(ada, [], name="Mail")
    made = api.post("/status-pages", {"title": "Ours", "slug": "Shop-1", "watch_ids": [str(watch.id)]})
    assert made.status_code == 201, made.content
    page = made.json()
    assert (page["slug"], page["intro"], page["watch_ids"]) == ("shop-1", "", [str(watch.id)])
    assert api.get(made["Location"].removeprefix("/api/v1")).json() == page
    assert b"Shop" in client.get("/status/shop-1/").content
    path = f"/status-pages/{page['id']}"
    changed = api("PATCH", path, {"watch_ids": [str(other.id)], "title": "All"}).json()
    assert changed == page | {"watch_ids": [str(other.id)], "title": "All"}
    assert api("PATCH", path, {"intro": "Of us."}).json() == changed | {"intro": "Of us."}
    assert api("PATCH", path, changed | {"enabled": False}).json()["enabled"] is False
    assert api.get("/status-pages").json()["items"][0]["title"] == "All"
    assert api("DELETE", path).status_code == 204
    assert api.get(path).status_code == 404


def test_a_page_without_a_slug_gets_a_random_one(api: Api) -> None:
    pages = [api.post("/status-pages", {"title": "Ours"}).json() for _ in range(2)]
    assert len({page["slug"] for page in pages}) == 2
    answer = api.post("/status-pages", {"title": "Ours", "slug": pages[0]["slug"]})
    assert [one["field"] for one in answer.json()["errors"]] == ["slug"]


def test_what_is_wrong_is_named(api: Api, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    strangers = str(make_watch(make_user(), []).id)
    for body, field in (
        ({"title": ""}, "title"),
        ({"title": "x", "slug": "a b"}, "slug"),
        ({"title": "x", "watch_ids": [strangers]}, "watch_ids"),
        ({"title": "x", "watch_ids": ["x"]}, "watch_ids"),
        ({"title": "x", "url": "y"}, "url"),
    ):
        answer = api.post("/status-pages", body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), body
    page = StatusPage.objects.create(user=ada, title="Ours")
    assert api("PATCH", f"/status-pages/{page.id}", {"url": "y"}).json()["errors"][0]["code"] == "read_only"
    monkeypatch.setattr(status, "MOST_PAGES", 1)
    assert api.post("/status-pages", {"title": "x"}).json()["errors"][0]["code"] == "limit_reached"


def test_incidents_are_published_changed_ended_and_told(api: Api, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    page = StatusPage.objects.create(user=ada, title="Ours")
    page.subscribers.create(address="reader@example.net", confirmed_at="2026-06-01T12:00Z")
    path = f"/status-pages/{page.id}/incidents"
    made = api.post(path, {"title": "Slow", "text": "We look."})
    incident = made.json()
    assert (made.status_code, incident["is_over"], incident["ended_at"]) == (201, False, None)
    assert StatusMail.objects.get().what == "opened"
    one = f"{path}/{incident['id']}"
    assert api.get(one).json() == incident
    StatusMail.objects.all().delete()
    api("PATCH", one, {"title": "Slow"})
    assert not StatusMail.objects.exists()
    ended = api("PATCH", one, {"is_over": True}).json()
    assert (ended["is_over"], ended["title"], ended["text"]) == (True, "Slow", "We look.")
    assert StatusMail.objects.get().what == "updated"
    assert api("PATCH", one, ended | {"is_over": False}).json()["ended_at"] is None
    other = StatusPage.objects.create(user=ada, title="Other")
    assert api.get(f"/status-pages/{other.id}/incidents/{incident['id']}").status_code == 404
    assert len(api.get(path).json()["items"]) == 1
    monkeypatch.setattr(status, "NEW_A_DAY", 1)
    assert api.post(path, {"title": "Slow again"}).json()["errors"][0]["code"] == "limit_reached"
    assert api("DELETE", one).status_code == 204
    assert not StatusMail.objects.exists()


def test_badges_are_made_once_renewed_and_deleted(api: Api, ada: User) -> None:
    watch = make_watch(ada, [])
    made = api.post("/badges", {"watch_id": str(watch.id)})
    assert made.status_code == 201
    assert api.post("/badges", {"watch_id": str(watch.id)}).json() == made.json()
    by_tag = api.post("/badges", {"tag": "db"}).json()
    assert (by_tag["watch_id"], by_tag["tag"]) == (None, "db")
    path = f"/badges/{by_tag['id']}"
    new = api.post(f"{path}/url").json()
    assert new["url"] != by_tag["url"]
    assert api.get(path).json() == new
    assert len(api.get("/badges").json()["items"]) == 2
    assert api("DELETE", path).status_code == 204
    assert Badge.objects.count() == 1
    strangers = str(make_watch(make_user(), []).id)
    for body in (
        {},
        {"tag": "x" * 31},
        {"tag": "x\x01"},
        {"watch_id": strangers},
        {"watch_id": "x"},
        {"watch_id": str(watch.id), "tag": "x"},
    ):
        assert api.post("/badges", body).status_code == 422, body
