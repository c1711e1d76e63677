"""Nobody reaches another person's rows, by any address there is: 404, never 403."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from notifications import urls as notification_urls
from people import urls as people_urls
from people.models import User
from schedules import urls as schedule_urls
from schedules.models import Schedule
from tests.make import make_channel, make_delivery, make_schedule, make_user

pytestmark = pytest.mark.django_db

PATTERNS: list[tuple[str, URLPattern]] = [
    (f"{urls.app_name}:{pattern.name}", pattern)
    for urls in (schedule_urls, notification_urls, people_urls)
    for pattern in urls.urlpatterns
]
OF_SOMEBODY = [
    (name, pattern) for name, pattern in PATTERNS if any(key.endswith("_id") for key in pattern.pattern.converters)
]


def address(name: str, pattern: URLPattern, owner: User) -> str:
    inbox = make_channel(owner)
    message = make_delivery(inbox, state="delivered", settled_at="2026-06-01T12:00Z")
    schedule = make_schedule(owner, [inbox])
    if name == "schedules:restore":
        Schedule.objects.update(deleted_at="2026-06-01T12:00Z", next_fire_at=None)
    values = {
        "schedule_id": schedule.id,
        "channel_id": inbox.id,
        "delivery_id": message.id,
        "notification_id": message.notification_id,
        "kind": "email",
    }
    return reverse(name, kwargs={key: values[key] for key in pattern.pattern.converters})


@pytest.mark.parametrize(("name", "pattern"), OF_SOMEBODY, ids=[name for name, _ in OF_SOMEBODY])
def test_a_stranger_gets_404_where_the_owner_gets_an_answer(
    browser: Client, ada: User, name: str, pattern: URLPattern
) -> None:
    path = address(name, pattern, ada)
    stranger = Client()
    stranger.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")
    # Where a method is not allowed at all, 405 comes first, for everybody alike.
    strange = {stranger.get(path).status_code, stranger.post(path).status_code}
    assert strange in ({404}, {404, 405})
    assert {browser.get(path).status_code, browser.post(path).status_code} & {200, 302}


PRIVATE = [(name, pattern) for name, pattern in PATTERNS if name != "people:home"]


@pytest.mark.parametrize(("name", "pattern"), PRIVATE, ids=[name for name, _ in PRIVATE])
def test_somebody_signed_out_is_led_to_sign_in(client: Client, ada: User, name: str, pattern: URLPattern) -> None:
    assert client.get(address(name, pattern, ada))["Location"].startswith("/account/login/")
