"""Dead events have the pages, the acts and the email of every kind of work."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import Permission
from django.core import mail
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from common.redis import served_queues
from events.models import Digest, Effect, Event
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_digests import make_digest_rule, send
from tests.db.locks import wait_for_a_lock
from tests.make import happen, make_channel, make_delivery, make_user, signed_in
from work import dead_letters
from work.dead_letters import Done, Who
from work.models import Intervention
from work.operators import summary as operator_summary

CAUSES = "/admin/events/deadletter/causes/"


@pytest.fixture
def dead(ada: User) -> Event:
    event = happen(ada, type="channel.disabled", data={})
    assert event.state == "dead"
    return event


def test_a_dead_event_is_listed_by_cause_and_replayed(operator: Client, dead: Event) -> None:
    assert f'href="{CAUSES}{dead.cause}/"' in operator.get(CAUSES).content.decode()
    page = operator.get(f"{CAUSES}{dead.cause}/").content.decode()
    assert f"/admin/events/deadletter/{dead.pk}/" in page and dead.user.email in page
    operator.post(f"{CAUSES}{dead.cause}/replay/", {"per_minute": "60", "confirmed": "yes"})
    dead.refresh_from_db()
    assert (dead.state, dead.replays) == ("pending", 1)
    kept = Intervention.objects.get()
    assert (kept.kind, kept.what, kept.cause, kept.count) == ("event", "replayed", dead.cause, 1)
    assert f"{kept.pk}/" in operator.get(f"/admin/events/event/{dead.pk}/change/").content.decode()


def test_a_dead_digest_is_listed_by_cause_and_replayed(operator: Client, ada: User) -> None:
    rule = make_digest_rule(ada)
    happen(ada)
    Effect.objects.update(digest=None, outcome="silent")  # damaged
    send()
    digest = Digest.objects.get()
    assert digest.state == "dead"
    causes = "/admin/events/deaddigest/causes/"
    assert f'href="{causes}{digest.cause}/"' in operator.get(causes).content.decode()
    for page in ("digest/", f"digest/{digest.pk}/change/", "deaddigest/"):
        assert rule.name in operator.get(f"/admin/events/{page}").content.decode()
    operator.post(f"{causes}{digest.cause}/replay/", {"per_minute": "60", "confirmed": "yes"})
    digest.refresh_from_db()
    assert (digest.state, digest.replays) == ("pending", 1)


def test_the_operators_email_has_the_dead_letters_of_each_kind(operator: Client, dead: Event) -> None:
    served_queues.announce(["deliveries", "events", "jobs", "bulk", "maintenance"])
    make_delivery(make_channel(make_user()), state="dead")
    operator_summary.send(timezone.now())
    [message] = mail.outbox
    assert message.subject.startswith("[Carillon] Dead letters: 2 wait")
    assert CAUSES in str(message.body) and "/admin/notifications/deadletter/causes/" in str(message.body)


def test_an_operator_replays_no_events_of_those_with_more_rights(dead: Event) -> None:
    User.objects.filter(pk=dead.user_id).update(is_superuser=True)
    staff = make_user(is_staff=True)
    kinds = Permission.objects.filter(content_type__app_label="events", codename__endswith="_deadletter")
    staff.user_permissions.add(*kinds)
    clerk = signed_in(staff)
    clerk.post(f"{CAUSES}{dead.cause}/try/")
    clerk.post(f"{CAUSES}{dead.cause}/discard/", {"reason": "Mine."})
    clerk.post("/admin/events/deadletter/", {"action": "replay", "_selected_action": str(dead.pk)})
    dead.refresh_from_db()
    assert (dead.state, Intervention.objects.count()) == ("dead", 0)


def test_its_owner_sees_a_dead_event_and_handles_it_again(ada: User, dead: Event) -> None:
    happen(ada)
    browser = signed_in(ada)
    shown = browser.get("/events/?state=dead").content.decode()
    assert f'href="/events/{dead.pk}"' in shown and "order.paid</a>" not in shown
    assert "Dead events" in browser.get("/events/").content.decode()
    types = browser.get("/events/types").content.decode()
    assert '?type=channel.disabled&amp;state=dead">1 dead event</a>' in types
    browser.post(f"/events/{dead.pk}/replay")
    dead.refresh_from_db()
    assert (dead.state, dead.replays) == ("pending", 1)
    assert "Dead events" not in browser.get("/events/").content.decode()


def test_its_owner_discards_a_dead_event_with_a_note(ada: User, dead: Event) -> None:
    browser = signed_in(ada)
    assert "Discard" in browser.get(f"/events/{dead.pk}").content.decode()
    assert signed_in(make_user()).post(f"/events/{dead.pk}/discard").status_code == 404
    for _ in range(2):
        browser.post(f"/events/{dead.pk}/discard", {"note": "The shop\nis closed."})
    dead.refresh_from_db()
    assert (dead.state, dead.reason) == ("cancelled", "Discarded: The shop is closed.")
    kept = Intervention.objects.get()
    assert (kept.kind, kept.what, kept.which, kept.who) == ("event", "discarded", "own dead event", ada.email)


def test_dead_events_over_the_api(ada: User, dead: Event) -> None:
    happen(ada)
    api = Api(ada)
    [shown] = api.get("/events?state=dead").json()["items"]
    assert (shown["id"], shown["state"]) == (dead.key, "dead")
    assert api.get("/events?state=gone").status_code == 422
    assert Api(make_user()).post(f"/events/{dead.key}/discard", {"reason": "No."}).status_code == 404
    assert api.post(f"/events/{dead.key}/discard", {"reason": " "}).status_code == 422
    answer = api.post(f"/events/{dead.key}/discard", {"reason": "Closed."})
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert api.post(f"/events/{dead.key}/discard", {}).status_code == 409
    assert api.get("/events?state=dead").json()["items"] == []


@pytest.mark.django_db(transaction=True)
def test_what_somebody_replays_at_this_moment_is_not_kept_as_discarded() -> None:
    dead = happen(make_user(), type="channel.disabled", data={})
    rows, who = Event.objects.filter(pk=dead.pk), Who.of(dead.user)
    discarded: list[Done] = []

    def discard() -> None:
        discarded.append(dead_letters.discard(rows, "one", who, "Not needed."))
        connections.close_all()

    thread = threading.Thread(target=discard)
    with transaction.atomic():
        assert dead_letters.replay(rows, "one", who).changed == [dead.pk]
        thread.start()
        wait_for_a_lock()
    thread.join(30)
    assert [done.changed for done in discarded] == [[]]
    assert Intervention.objects.get().what == "replayed"
