"""The admin of events, of what followed from them, and of inbound addresses."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from events.models import InboundRequest, Run
from notifications.models import Delivery
from people.models import User
from tests.db.events.test_inbound import ORDER, TOKEN, make_address, post
from tests.db.test_wording import words_of
from tests.make import happen, make_failed_step, make_rule
from work.models import Intervention


def page(operator: Client, path: str) -> str:
    answer = operator.get(f"/admin/{path}")
    assert answer.status_code == 200, (path, answer.status_code)
    return answer.content.decode()


def test_an_event_shows_its_attempts_its_effects_and_the_way_to_its_trace(operator: Client, ada: User) -> None:
    make_rule(ada)
    event = happen(ada, correlation_id=uuid4())
    shown = page(operator, f"events/event/{event.pk}/change/")
    notification = Delivery.objects.get().notification
    assert "Big orders" in shown and f"/admin/notifications/notification/{notification.pk}/" in shown
    assert "handled" in shown and "worker" in shown
    assert f'href="/trace/{event.correlation_id}"' in shown
    assert f'href="/trace/{event.correlation_id}"' in page(
        operator, f"notifications/notification/{notification.pk}/change/"
    )
    delivery = Delivery.objects.get()
    assert f'href="/trace/{event.correlation_id}"' in page(operator, f"notifications/delivery/{delivery.pk}/change/")
    assert "Big orders" in operator.get(f"/trace/{event.correlation_id}").content.decode()


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"q": "{event.correlation_id}"}, 1),
        ({"q": "{event.pk}"}, 1),
        ({"q": "nothing like it"}, 0),
        ({"state": "handled"}, 1),
        ({"state": "dead"}, 0),
        ({"when": "hour"}, 1),
        ({"user__id__exact": "{event.user_id}"}, 1),
        ({"user__id__exact": "0"}, 0),
    ],
)
def test_the_list_of_events_is_searched_and_filtered(
    operator: Client, ada: User, asked: dict[str, str], found: int
) -> None:
    event = happen(ada)
    answer = operator.get("/admin/events/event/", {name: value.format(event=event) for name, value in asked.items()})
    assert (answer.status_code, len(answer.context["cl"].result_list)) == (200, found)


def test_an_inbound_address_and_its_requests_are_shown_without_secrets(operator: Client, ada: User) -> None:
    address = make_address(ada, secret="hidden-from-everybody", scheme="github")
    post(ORDER)
    kept = InboundRequest.objects.get()
    pages = [
        page(operator, path)
        for path in (
            "events/inboundaddress/",
            f"events/inboundaddress/{address.pk}/change/",
            f"events/inboundrequest/?address__id__exact={address.pk}",
            f"events/inboundrequest/{kept.pk}/change/",
        )
    ]
    assert "Shop" in pages[0] and "GitHub" in pages[1] and "401" in pages[2] and "order.paid" in pages[3]
    for shown in pages:
        assert not any(
            hidden in shown for hidden in (TOKEN, "hidden-from-everybody", address.sealed_secrets, address.hashed)
        )
    assert operator.post(f"/admin/events/inboundaddress/{address.pk}/change/", {"label": "Mine"}).status_code == 403


def test_an_operator_skips_failed_steps_which_is_logged_at_each(operator: Client, ada: User) -> None:
    run = Run.objects.create(user=ada, flow="brand", key="llc", correlation_id=uuid4())
    step, other = make_failed_step(run), make_failed_step(run, key="2")
    shown = words_of(page(operator, f"events/run/{run.pk}/change/"))
    assert "failed" in shown and "dead" not in shown
    skip = {"action": "skip", "_selected_action": [str(step.id)]}
    assert "1 skipped." in operator.post("/admin/events/failedstep/", skip, follow=True).content.decode()
    step.refresh_from_db()
    other.refresh_from_db()
    assert (step.state, other.state) == ("cancelled", "dead")
    done, logged = Intervention.objects.get(), LogEntry.objects.get()
    assert (done.what, done.count, done.reason) == (Intervention.Action.FIXED, 1, "Skipped.")
    assert (logged.object_id, logged.change_message) == (str(step.id), "Skipped.")
    end = {"action": "end", "_selected_action": [str(run.id)]}
    for text in ("1 ended.", "1 skipped: ended before."):
        assert text in operator.post("/admin/events/run/", end, follow=True).content.decode()


def test_the_admin_of_events_takes_as_many_statements_for_many_rows_as_for_few(operator: Client, ada: User) -> None:
    def statements(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            page(operator, path)
        return len(captured)

    make_rule(ada)
    make_address(ada)
    event = happen(ada)
    paths = ["event/", f"event/{event.pk}/change/", "deadletter/", "inboundaddress/", "inboundrequest/"]
    for path in paths:
        statements(f"events/{path}")  # content types are read once
    post(ORDER)
    few = [statements(f"events/{path}") for path in paths]
    for number in range(5):
        happen(ada)
        post(ORDER)
        make_address(ada, token=f"{number}" * 48)
    assert [statements(f"events/{path}") for path in paths] == few
    assert max(few) <= 11
