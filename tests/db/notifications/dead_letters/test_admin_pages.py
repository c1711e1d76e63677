"""The admin's pages of causes: groups first, then one, tried, replayed at a rate or given up."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from demo.receivers import HTTPReceiver, Reply
from notifications.models import Channel, Delivery
from tests.db.notifications.conftest import state_after_a_try
from tests.make import NOON, disabled, make_channel, make_delivery, make_user
from work.models import Intervention

pytestmark = pytest.mark.django_db

CAUSES = "/admin/notifications/deadletter/causes/"


@pytest.fixture
def letters(hook: Channel) -> list[Delivery]:
    """Four of one cause, oldest first."""
    for n in range(4):
        make_delivery(hook, state="dead", reason=f"No <b>box</b> {n}.", settled_at=NOON + timedelta(hours=n))
    return list(Delivery.objects.order_by("settled_at"))


def page_of(letters: list[Delivery]) -> str:
    return f"{CAUSES}{letters[0].cause}/"


def shown(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_menu_leads_to_the_groups_and_a_group_to_its_letters(operator: Client, letters: list[Delivery]) -> None:
    assert f'href="{CAUSES}"' in shown(operator, "/admin/")
    groups = shown(operator, CAUSES)
    assert f'href="{page_of(letters)}"' in groups
    assert "No &lt;b&gt;box&lt;/b&gt; 3." in groups
    group = shown(operator, page_of(letters))
    assert "4 dead letters of Webhook" in group
    assert "No &lt;b&gt;box&lt;/b&gt; 3." in group.split("</head>")[1]
    assert "autofocus" not in group
    assert all(f"/admin/notifications/deadletter/{letter.pk}/" in group for letter in letters)
    narrowed = operator.get("/admin/notifications/deadletter/", {"cause": letters[0].cause})
    assert len(narrowed.context["cl"].result_list) == 4
    assert operator.get("/admin/notifications/deadletter/", {"cause": "no"}).context["cl"].result_count == 0


def test_one_is_tried_and_its_result_shown_then_the_rest_replayed_at_a_rate(
    operator: Client, letters: list[Delivery], receiver: HTTPReceiver
) -> None:
    answer = operator.post(f"{page_of(letters)}try/", follow=True)
    assert "1 waiting." in answer.content.decode()
    assert answer["Refresh"] == "5"
    receiver.answer = Reply(404)
    assert state_after_a_try(letters[3]) == "dead"
    tried = operator.get(answer.redirect_chain[-1][0])
    assert "1 failed again." in tried.content.decode()
    assert "The receiver answered 404 Not Found." in tried.content.decode()
    assert f'href="{page_of(letters)}"' in tried.content.decode()
    assert "Refresh" not in tried
    typed = {"per_minute": "60", "max_age": ""}
    answer = operator.post(f"{page_of(letters)}replay/", typed | {"confirmed": "yes"}, follow=True)
    assert "3 waiting." in answer.content.decode()
    assert "60 a minute" in answer.content.decode()
    due = Delivery.objects.filter(state="pending").order_by("available_at").values_list("available_at", flat=True)
    assert [at - due[0] for at in due] == [timedelta(seconds=n) for n in range(3)]
    assert [kept.what for kept in Intervention.objects.order_by("id")] == ["tested", "replayed"]


def test_a_replay_of_many_first_says_how_many_and_which_and_what_cannot_be_undone(
    operator: Client, letters: list[Delivery]
) -> None:
    Delivery.objects.filter(pk=letters[0].pk).update(expires_at=NOON)
    answer = operator.post(f"{page_of(letters)}replay/", {"per_minute": "2", "max_age": ""})
    page = answer.content.decode()
    assert "3 dead letters are replayed, 2 a minute" in page and "cannot be undone" in page
    assert "1 stale one is skipped." in page
    assert page.count("“Water the plants” to “") == 3
    assert dict(answer.context["hidden"]) == {"per_minute": "2", "max_age": ""}
    assert set(Delivery.objects.values_list("state", flat=True)) == {"dead"}
    Delivery.objects.update(expires_at=NOON)
    answer = operator.post(f"{page_of(letters)}replay/", {"per_minute": "2"}, follow=True)
    assert "4 are stale" in answer.content.decode()


def test_dead_letters_say_what_to_mend_before_a_replay(operator: Client, letters: list[Delivery]) -> None:
    channel = letters[0].channel
    typed = {"per_minute": "60"}
    ways = [
        lambda: operator.get(page_of(letters)),
        lambda: operator.post(f"{page_of(letters)}replay/", typed),
        lambda: operator.get(f"/admin/notifications/deadletter/{letters[0].pk}/change/"),
        lambda: operator.get(f"/admin/notifications/deadletter/{letters[0].pk}/replay/"),
    ]
    for fields, words in [
        ({}, ""),
        (
            disabled("<b>410</b> Gone.") | {"disabled_at": NOON},
            "is disabled. &lt;b&gt;410&lt;/b&gt; Gone. Enable it first",
        ),
        ({"disabled_at": None, "verified_at": None}, "is not confirmed"),
        ({"removed_at": NOON}, "was removed"),
    ]:
        Channel.objects.filter(pk=channel.pk).update(**fields)
        for way in ways:
            page = way().content.decode()
            assert words in page
            assert ("a replay fails again" in page.lower()) == bool(words)


def test_what_was_done_shows_on_each_deliverys_page(operator: Client, letters: list[Delivery]) -> None:
    operator.post(f"{page_of(letters)}discard/", {"reason": "They moved."})
    page = shown(operator, f"/admin/notifications/delivery/{letters[0].pk}/change/")
    kept = Intervention.objects.get()
    assert reverse("admin:work_intervention_change", args=[kept.pk]) in page
    assert page.count("They moved.") >= 2
    assert (kept.who, kept.count, kept.cause) == ("operator@example.org", 4, letters[0].cause)
    assert set(Delivery.objects.values_list("state", flat=True)) == {"cancelled"}


@pytest.mark.parametrize(
    ("act", "typed", "words"),
    [
        ("replay", {"per_minute": ""}, "Enter how many per minute the service can handle."),
        ("replay", {"per_minute": "0"}, "greater than or equal to 1"),
        ("replay", {"per_minute": "many"}, "Enter a whole number."),
        ("replay", {"per_minute": "60", "max_age": "2"}, "not one of the available choices"),
        ("discard", {"reason": "  "}, "Enter a reason"),
    ],
)
def test_what_was_typed_wrongly_is_said_at_its_field_and_does_nothing(
    operator: Client, letters: list[Delivery], act: str, typed: dict[str, str], words: str
) -> None:
    answer = operator.post(f"{page_of(letters)}{act}/", typed)
    assert answer.status_code == 200
    assert words in answer.content.decode()
    assert set(Delivery.objects.values_list("state", flat=True)) == {"dead"}


def test_a_group_that_somebody_else_has_just_finished_leads_back_to_the_groups(
    operator: Client, letters: list[Delivery]
) -> None:
    page = page_of(letters)
    operator.post(f"{page}discard/", {"reason": "Old."})
    answer = operator.post(f"{page}replay/", {"per_minute": "60", "confirmed": "yes"}, follow=True)
    assert answer.redirect_chain == [(CAUSES, 302)]
    assert "No dead letter of this cause is left" in answer.content.decode()
    assert operator.get(page, follow=True).redirect_chain == [(CAUSES, 302)]
    assert operator.get(f"{CAUSES}000000000000/").status_code == 404


def test_an_empty_list_says_so(operator: Client) -> None:
    assert "No dead letters." in shown(operator, CAUSES)


def test_who_may_only_look_cannot_act_and_nobody_else_looks(client: Client, letters: list[Delivery]) -> None:
    staff = make_user(is_staff=True)
    staff.user_permissions.add(
        Permission.objects.get(codename="view_deadletter", content_type__app_label="notifications")
    )
    client.force_login(staff)
    assert "Replay" not in shown(client, page_of(letters)).split("<main")[-1]
    for act in ("try", "replay", "discard"):
        assert client.post(f"{page_of(letters)}{act}/", {"per_minute": 1, "reason": "No."}).status_code == 403
    client.force_login(make_user())
    assert client.get(CAUSES).status_code == 302
    client.force_login(make_user(is_staff=True, is_superuser=True))
    assert {client.get(f"{page_of(letters)}{act}/").status_code for act in ("try", "replay", "discard")} == {405}
    assert set(Delivery.objects.values_list("state", flat=True)) == {"dead"}


def test_a_search_by_idempotency_key_leads_to_every_attempt_that_carried_it(
    operator: Client, hook: Channel, receiver: HTTPReceiver
) -> None:
    delivery = make_delivery(hook)
    receiver.answers.append(Reply(404))
    state_after_a_try(delivery)
    make_delivery(hook)
    found = operator.get("/admin/notifications/delivery/", {"q": str(delivery.pk)}).context["cl"].result_list
    assert list(found) == [delivery]
    operator.post(f"{CAUSES}{delivery.cause}/try/")
    state_after_a_try(delivery)
    page = shown(operator, f"/admin/notifications/delivery/{delivery.pk}/change/")
    assert "The receiver answered 404 Not Found." in page
    assert "200 OK" in page
    assert [request.headers["webhook-id"] for request in receiver.requests] == [str(delivery.pk)] * 2


def test_the_pages_cost_the_same_with_more_letters(operator: Client, letters: list[Delivery]) -> None:
    def statements(url: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            shown(operator, url)
        return len(captured)

    pages = (CAUSES, page_of(letters))
    few = [statements(url) for url in pages]
    for n in range(10):
        channel = make_channel(make_user(), "email")
        make_delivery(channel, state="dead", cause=f"email-smtp-55{n}")
        make_delivery(letters[0].channel, state="dead", reason="No <b>box</b> 9.")
    assert [statements(url) for url in pages] == few
    assert max(few) <= 9


def test_one_is_sent_as_new_and_one_is_marked_as_fixed(operator: Client, letters: list[Delivery]) -> None:
    lists, (new, fixed, *_) = "/admin/notifications/deadletter/", letters
    assert 'value="send_as_new"' in shown(operator, f"{lists}{new.pk}/as-new/")
    assert 'value="mark_fixed"' in shown(operator, f"{lists}{fixed.pk}/fixed/")
    for letter, posted in (
        (new, {"action": "send_as_new", "confirmed": "yes"}),
        (fixed, {"action": "mark_fixed", "confirmed": "1", "reason": "By phone."}),
    ):
        operator.post(lists, posted | {"_selected_action": [str(letter.pk)]})
        letter.refresh_from_db()
    assert (new.state, new.reason_code) == ("cancelled", "sent-as-new")
    [copy] = Delivery.objects.filter(state="pending", channel=new.channel)
    assert copy.notification_id != new.notification_id
    assert (fixed.reason_code, fixed.reason_params) == ("fixed", {"said": "By phone."})
    assert list(Intervention.objects.order_by("id").values_list("what", flat=True)) == ["as-new", "fixed"]


def test_dead_letters_of_all_kinds_are_tabs_of_one_page_as_far_as_one_may_see_them(operator: Client) -> None:
    first, steps = shown(operator, CAUSES), shown(operator, "/admin/events/failedstep/")
    kinds = ("notifications/deadletter", "jobs/deadletter", "jobs/deadbatch", "events/deadletter", "events/deaddigest")
    for kind in (*kinds, "events/failedstep"):
        assert f'href="/admin/{kind}/causes/"' in first
        assert f'href="/admin/{kind}/causes/"' in steps

    helper = make_user(is_staff=True)
    helper.user_permissions.set(Permission.objects.filter(content_type__app_label="jobs", codename="view_deadletter"))
    client = Client()
    client.force_login(helper)
    menu = shown(client, "/admin/")
    assert 'href="/admin/jobs/deadletter/causes/"' in menu
    assert not any(f'href="/admin/{kind}/causes/"' in menu for kind in kinds if kind != "jobs/deadletter")
    assert not any(
        f'href="/admin/{kind}/causes/"' in shown(client, "/admin/jobs/deadletter/causes/")
        for kind in kinds
        if kind != "jobs/deadletter"
    )


def test_after_one_that_worked_the_others_are_offered(
    operator: Client, letters: list[Delivery], receiver: HTTPReceiver
) -> None:
    answer = operator.post(f"{page_of(letters)}try/", follow=True)
    assert "Replay the other" not in answer.content.decode()
    assert state_after_a_try(letters[3]) == "delivered"
    tried = operator.get(answer.redirect_chain[-1][0]).content.decode()
    assert f'href="{page_of(letters)}"' in tried
    assert "It worked. Replay the other 3 …" in tried
