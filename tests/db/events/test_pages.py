"""Pages of events."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from uuid import uuid4

from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events.kinds.event import EVENT
from events.models import Effect, Event, Rule
from events.pure.types import TYPES
from notifications.models import Delivery, Notification
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_digests import make_digest_rule, send
from tests.make import happen, make_rule, make_user, signed_in, taken
from work.engine import runner
from work.models import Intervention


def test_the_list_says_what_followed_and_that_nobody_listens(ada: User) -> None:
    make_rule(ada)
    happen(ada)
    happen(ada, data={"amount": 3})
    happen(ada, type="billing.failed")
    page = signed_in(ada).get("/events/").content.decode()
    assert "Rang" in page
    assert "data.amount is 3" in page
    assert "Nobody listens to billing.failed" in page
    assert "billing.failed" not in signed_in(ada).get("/events/?type=order.paid").content.decode().split("<ul")[-1]


def test_the_list_says_what_became_of_a_digest(ada: User) -> None:
    rule = make_digest_rule(ada)
    browser = signed_in(ada)

    def page() -> str:
        """Without the links to rules."""
        return re.sub('<a href="/rules/[^>]*>([^<]*)</a>', r"\1", browser.get("/events/").content.decode())

    happen(ada)
    assert "Waits for the digest of “Big orders” until" in page()
    send()
    assert f'<a href="/history/{Notification.objects.get().id}/">In a digest</a>' in page()
    happen(ada)
    Rule.objects.filter(id=rule.id).update(enabled=False)
    send()
    assert "In no digest of “Big orders”: Its rule was switched off" in page()


def test_a_replay_is_a_new_event_of_the_same_chain(ada: User) -> None:
    chain = uuid4()
    event = happen(ada, correlation_id=chain, audience="group", audience_key="7")
    client = signed_in(ada)
    answer = client.post(f"/events/{event.key}/replay")
    again = Event.objects.exclude(id=event.id).get()
    assert answer["Location"] == f"/events/{again.key}"
    assert (again.type, again.data, again.chain) == (event.type, event.data, str(chain))
    assert (again.audience, again.audience_key) == ("group", "7")
    assert client.get(answer["Location"]).status_code == 200


def test_the_trace_page_is_for_its_owner_and_for_operators(ada: User) -> None:
    chain = uuid4()
    make_rule(ada)
    happen(ada, correlation_id=chain)
    delivery = Delivery.objects.get()
    taken(delivery.id)
    delivery.history.update(outcome="delivered", finished_at=timezone.now() + timedelta(seconds=5))
    page = signed_in(ada).get(f"/trace/{chain}").content.decode()
    assert "Big orders" in page
    [whole, axis] = re.findall(r"steps in ([\d.]+)|([\d.]+)&nbsp;s</span></figcaption", page)
    assert whole[0] == axis[1] and float(whole[0]) >= 5
    assert signed_in(make_user()).get(f"/trace/{chain}").status_code == 404
    staff = make_user(is_staff=True)
    assert signed_in(staff).get(f"/trace/{chain}").status_code == 404
    seen = Permission.objects.filter(codename__in=["view_event", "view_delivery"])
    staff.user_permissions.add(*seen)
    page = signed_in(staff).get(f"/trace/{chain}").content.decode()
    assert "/admin/events/event/" in page and "/admin/notifications/delivery/" in page
    assert f"/history/{Effect.objects.get().notification_id}/" not in page


def test_every_known_type_is_shown_and_fits_its_own_example() -> None:
    page = signed_in(make_user()).get("/events/types").content.decode()
    for name, known in TYPES.items():
        assert name in page
        assert known.fields
        example = {field.name: json.loads(field.example) for field in known.fields}
        known.schema.model_validate_json(json.dumps(example))


def test_a_page_costs_as_many_statements_for_many_events_as_for_few(ada: User) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get("/events/")
        return len(captured)

    client = signed_in(ada)
    make_rule(ada)
    happen(ada)
    few = statements()
    for _ in range(9):
        happen(ada)
    assert statements() == few


def test_a_dead_event_is_handled_again_itself_by_page_and_api(ada: User) -> None:
    event = happen(ada, type="channel.disabled", data={})
    assert signed_in(ada).post(f"/events/{event.key}/replay")["Location"] == f"/events/{event.id}"
    event.refresh_from_db()
    assert (event.state, event.replays, Event.objects.count()) == ("pending", 1, 1)
    assert Intervention.objects.get().who == ada.email
    runner.run(EVENT, event.id, "worker")
    assert Api(ada).post(f"/events/{event.key}/replay").json() == {"ids": [str(event.key)]}
    event.refresh_from_db()
    assert (event.state, event.replays) == ("pending", 2)


def test_the_api_handles_an_event_again_as_a_new_one_and_none_of_others(ada: User) -> None:
    event = happen(ada)
    assert Api(make_user()).post(f"/events/{event.key}/replay").status_code == 404
    [again] = Api(ada).post(f"/events/{event.key}/replay").json()["ids"]
    assert Event.objects.get(key=again).data == event.data
