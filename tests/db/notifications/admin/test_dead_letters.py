"""Replay and discard change exactly what was selected, once, and keep who did it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.messages import get_messages
from django.test import Client

from notifications.models import Channel, Delivery
from people.models import User
from tests.make import NOON, make_channel, make_delivery, make_user
from work.models import Intervention

pytestmark = pytest.mark.django_db

LIST = "/admin/notifications/deadletter/"


@pytest.fixture
def channel() -> Channel:
    return make_channel(make_user(), "email")


@pytest.fixture
def dead(channel: Channel) -> list[Delivery]:
    return [make_delivery(channel, state=state, reason="No such box.") for state in ("dead", "dead", "unknown")]


def act(client: Client, action: str, rows: Sequence[Delivery], where: str = LIST, **fields: Any) -> str:
    """Send the action as the list does. Returns what the operator is told."""
    if action in {"replay", "send_as_new"}:
        fields = {"confirmed": "yes"} | fields
    answer = client.post(where, {"action": action, "_selected_action": [str(row.pk) for row in rows], **fields})
    assert answer.status_code == 302, answer.content[:500]
    return str(list(get_messages(answer.wsgi_request))[-1])


def states() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("state", flat=True))


def kept() -> list[tuple[str, str, str]]:
    entries = LogEntry.objects.order_by("pk").select_related("user")
    return [(entry.user.email, str(entry.object_id), entry.change_message) for entry in entries]


def test_replay_sends_the_selected_again_and_no_others(operator: Client, dead: list[Delivery]) -> None:
    assert act(operator, "replay", [dead[0], dead[2]]) == "2 will be replayed."
    assert states() == ["pending", "dead", "pending"]
    assert list(Delivery.objects.order_by("pk").values_list("replays", flat=True)) == [1, 0, 1]
    assert sorted(kept()) == sorted(("operator@example.org", str(row.pk), "Replayed.") for row in (dead[0], dead[2]))


def test_a_second_replay_skips_and_counts_those_that_had_changed(operator: Client, dead: list[Delivery]) -> None:
    act(operator, "replay", dead[:1])
    assert act(operator, "replay", dead) == "2 will be replayed. 1 had changed and was skipped."
    before = list(Delivery.objects.order_by("pk").values())
    assert act(operator, "replay", dead) == "0 will be replayed. 3 had changed and were skipped."
    assert list(Delivery.objects.order_by("pk").values()) == before
    assert len(kept()) == 3


def test_replay_rings_after_the_commit(
    operator: Client, dead: list[Delivery], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks() as callbacks:
        act(operator, "replay", dead)
    assert len(callbacks) == 1


def test_discard_asks_for_a_reason_first_and_gives_up_the_selected_only(operator: Client, dead: list[Delivery]) -> None:
    fields = {"action": "discard", "_selected_action": [str(row.pk) for row in dead[:2]]}
    for typed, said in (({}, "2 dead letters are cancelled"), ({"confirmed": "yes", "reason": " "}, "Enter a reason")):
        asked = operator.post(LIST, fields | typed)
        assert (asked.status_code, said in asked.content.decode()) == (200, True)
        assert states() == ["dead", "dead", "unknown"]
    told = act(operator, "discard", dead[:2], confirmed="yes", reason="They moved.")
    assert told == "2 discarded."
    assert states() == ["cancelled", "cancelled", "unknown"]
    assert Delivery.objects.get(pk=dead[0].pk).reason == "Discarded: They moved."
    said = "Discarded: They moved."
    assert sorted(kept()) == sorted(("operator@example.org", str(row.pk), said) for row in dead[:2])


def test_all_that_a_filter_matches_are_replayed_page_or_not_but_for_the_stale(
    operator: Client, channel: Channel
) -> None:
    stale = make_delivery(channel, state="dead", expires_at=NOON)
    for _ in range(60):
        make_delivery(channel, state="dead")
    other = make_delivery(make_channel(make_user(), "webhook"), state="dead")
    shown = operator.get(LIST, {"provider": "email"}).context["cl"].result_list
    assert len(shown) == 25
    told = act(operator, "replay", shown[:1], f"{LIST}?provider=email", select_across="1")
    assert told == "60 will be replayed. 1 is stale and skipped."
    assert Intervention.objects.get().which == "provider email"
    assert set(Delivery.objects.filter(state="dead")) == {other, stale}
    assert act(operator, "replay", [stale]) == "1 will be replayed."  # it was chosen itself


def test_all_that_a_filter_matches_are_discarded_after_asking(operator: Client, dead: list[Delivery]) -> None:
    where = f"{LIST}?state=dead"
    asked = operator.post(where, {"action": "discard", "_selected_action": [str(dead[0].pk)], "select_across": "1"})
    page = asked.content.decode()
    assert "2 dead letters are cancelled" in page
    assert f'action="{where}"' in page
    assert 'name="select_across" value="1"' in page
    act(operator, "discard", dead[:1], where, select_across="1", confirmed="yes", reason="Old.")
    assert states() == ["cancelled", "cancelled", "unknown"]


@pytest.mark.parametrize(("button", "words"), [("replay", "Replay"), ("discard", "Discard 1")])
def test_the_buttons_of_a_row_ask_and_change_nothing_by_themselves(
    operator: Client, dead: list[Delivery], button: str, words: str
) -> None:
    row = f"{LIST}{dead[0].pk}/"
    page = operator.get(f"{row}change/").content.decode()
    assert f'href="{row}{button}/"' in page
    assert "&#x27;dead&#x27;" not in page, "the state is a word"
    page = operator.get(f"{row}{button}/").content.decode()
    assert words in page and "“Water the plants” to “Email” of" in page
    assert f'action="{LIST}"' in page
    assert f'name="action" value="{button}"' in page
    assert f'name="_selected_action" value="{dead[0].pk}"' in page
    assert states() == ["dead", "dead", "unknown"]


def test_a_dead_letter_that_is_none_any_more_is_shown_as_the_delivery_it_is(
    operator: Client, dead: list[Delivery]
) -> None:
    act(operator, "replay", dead[:1])
    there = operator.get(f"{LIST}{dead[0].pk}/change/", follow=True)
    assert there.redirect_chain == [(f"/admin/notifications/delivery/{dead[0].pk}/change/", 302)]
    history = operator.get(f"{LIST}{dead[0].pk}/history/", follow=True).content.decode()
    assert "Replayed." in history
    assert "operator@example.org" in history


@pytest.fixture
def reader(client: Client) -> Client:
    """Staff who may look and not act."""
    staff = make_user(is_staff=True)
    _permit(staff, "view_deadletter", "view_channel", "view_delivery")
    client.force_login(staff)
    return client


def _permit(staff: User, *codenames: str) -> None:
    kinds = ContentType.objects.filter(app_label="notifications")
    staff.user_permissions.add(*Permission.objects.filter(content_type__in=kinds, codename__in=codenames))


def test_staff_who_may_only_look_cannot_act(reader: Client, dead: list[Delivery]) -> None:
    page = reader.get(LIST)
    assert page.status_code == 200
    assert "No such box." in page.content.decode()
    for action in ("replay", "discard"):
        fields = {"action": action, "_selected_action": str(dead[0].pk), "confirmed": "yes", "reason": "Mine."}
        reader.post(LIST, fields)
        assert reader.get(f"{LIST}{dead[0].pk}/{action}/").status_code == 403
    reader.post("/admin/notifications/channel/", {"action": "enable", "_selected_action": str(dead[0].channel_id)})
    assert states() == ["dead", "dead", "unknown"]
    assert kept() == []


def test_staff_who_may_change_dead_letters_can_act(client: Client, dead: list[Delivery]) -> None:
    staff = make_user(is_staff=True)
    _permit(staff, "change_deadletter")
    client.force_login(staff)
    assert act(client, "replay", dead[:1]) == "1 will be replayed."
    assert client.get("/admin/notifications/channel/").status_code == 403


def test_nobody_else_enters(client: Client, dead: list[Delivery]) -> None:
    client.force_login(make_user())
    client.post(LIST, {"action": "replay", "_selected_action": str(dead[0].pk)})
    assert client.get(LIST).status_code == 302
    assert states() == ["dead", "dead", "unknown"]


@pytest.mark.parametrize("where", ["notifications/deadletter", "notifications/delivery", "notifications/notification"])
def test_what_the_machinery_wrote_cannot_be_edited_or_deleted(
    operator: Client, dead: list[Delivery], where: str
) -> None:
    row = dead[0].notification_id if where.endswith("notification") else dead[0].pk
    assert operator.get(f"/admin/{where}/add/").status_code == 403
    assert operator.post(f"/admin/{where}/{row}/change/", {"state": "delivered"}).status_code == 403
    assert operator.post(f"/admin/{where}/{row}/delete/", {"post": "yes"}).status_code == 403
    assert states() == ["dead", "dead", "unknown"]
