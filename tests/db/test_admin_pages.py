"""Each list and each page of the admin answers, links on, and shows no secret."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from notifications.models import Channel
from tests.db.conftest import Story
from tests.make import drop_check, make_user

ROWS = {
    "notifications.deadletter": "dead",
    "notifications.delivery": "delivered",
    "notifications.notification": "notification",
    "schedules.occurrence": "occurrence",
    "schedules.schedule": "schedule",
    "events.rule": "rule",
    "notifications.channel": "hook",
    "people.user": "person",
    "django_celery_results.taskresult": "result",
}


def lists() -> list[str]:
    models = [model._meta for model in admin.site._registry]
    return [reverse(f"admin:{model.app_label}_{model.model_name}_changelist") for model in models]


def page_of(model: str, row: Any) -> str:
    return reverse(f"admin:{model.replace('.', '_')}_change", args=[row.pk])


def every_page(story: Story) -> list[str]:
    rows = [page_of(model, getattr(story, name)) for model, name in ROWS.items()]
    rows.append(page_of("django_celery_beat.periodictask", story.schedule.periodic_task))
    return [reverse("admin:index"), *lists(), *rows]


def text(client: Client, url: str) -> str:
    answer = client.get(url)
    assert answer.status_code == 200, (url, answer.status_code)
    return answer.content.decode()


def test_the_search_field_of_a_list_has_a_label(operator: Client) -> None:
    assert '<label for="searchbar"' in text(operator, reverse("admin:notifications_delivery_changelist"))


def test_each_list_shows_its_row(operator: Client, story: Story) -> None:
    for model, name in ROWS.items():
        row = getattr(story, name)
        assert page_of(model, row) in text(operator, reverse(f"admin:{model.replace('.', '_')}_changelist")), model


def test_every_list_and_page_answers_shows_no_secret_and_runs_nothing_that_a_person_wrote(
    operator: Client, story: Story
) -> None:
    nasty = "<script>alert(1)</script>"
    type(story.schedule).objects.update(title=nasty)
    type(story.notification).objects.update(subject=nasty, body=nasty)
    type(story.hook).objects.update(label=nasty)
    type(story.dead).objects.update(reason_code="note", reason_params={"said": nasty})
    PeriodicTask.objects.update(name=nasty)
    sealed = story.hook.sealed_secrets
    secret = story.hook.destination().secrets["secret"]
    assert sealed and secret.startswith("whsec_")
    assert len(every_page(story)) > 20
    for url in every_page(story):
        shown = text(operator, url)
        assert "Carillon" in shown and "<script>alert" not in shown, url
        assert sealed not in shown and secret not in shown and secret.removeprefix("whsec_") not in shown, url


def test_a_sealed_secret_cannot_be_guessed_by_asking_the_list_for_it(operator: Client, story: Story) -> None:
    asked = operator.get("/admin/notifications/channel/", {"sealed_secrets__startswith": "g"})
    assert asked.status_code == 400


@pytest.mark.parametrize(
    ("start", "to"),
    [
        ("schedules.schedule", ["/schedules/occurrence/?schedule__id__exact=", "/notification/?origin_id=", "/user/"]),
        ("schedules.occurrence", ["/schedules/schedule/", "/notifications/notification/", "/people/user/"]),
        ("notifications.notification", ["/schedules/occurrence/", "/schedules/schedule/", "/notifications/delivery/"]),
        ("events.rule", ["/people/user/", "/notification/?origin_id=", "/notifications/channel/"]),
        (
            "notifications.delivery",
            ["/notifications/notification/", "/notifications/channel/", "/people/user/", "/schedules/occurrence/"],
        ),
        (
            "notifications.channel",
            ["/people/user/", "/delivery/?channel__id__exact=", "/schedule/?channels__id__exact="],
        ),
        (
            "people.user",
            [
                *("/schedule/?user__id__exact=", "/rule/?user__id__exact="),
                *("/channel/?user__id__exact=", "/notification/?user__id__exact="),
            ],
        ),
    ],
)
def test_each_row_leads_to_the_next_and_back(operator: Client, story: Story, start: str, to: list[str]) -> None:
    page = text(operator, page_of(start, getattr(story, ROWS[start])))
    for where in to:
        assert where in page


def test_links_to_narrowed_lists_show_those_rows_and_no_others(operator: Client, story: Story) -> None:
    make_user(email="other@example.org")
    for url, count in [
        (f"/admin/schedules/schedule/?user__id__exact={story.person.pk}", 1),
        (f"/admin/schedules/schedule/?channels__id__exact={story.hook.pk}", 1),
        (f"/admin/events/rule/?user__id__exact={story.person.pk}", 1),
        (f"/admin/events/rule/?channels__id__exact={story.hook.pk}", 0),
        (f"/admin/schedules/occurrence/?schedule__id__exact={story.schedule.pk}", 1),
        (f"/admin/notifications/notification/?origin_id={story.schedule.pk}", 1),
        (f"/admin/notifications/delivery/?channel__id__exact={story.hook.pk}", 1),
        (f"/admin/notifications/deadletter/?channel__id__exact={story.inbox.pk}", 0),
        (f"/admin/notifications/channel/?user__id__exact={story.person.pk}", 2),
        ("/admin/schedules/schedule/?user__id__exact=0", 0),
    ]:
        answer = operator.get(url)
        assert (answer.status_code, len(answer.context["cl"].result_list)) == (200, count), url


@pytest.mark.parametrize(
    ("where", "term", "found"),
    [
        ("notifications/delivery", "{delivered.pk}", 1),
        ("notifications/delivery", "ada@", 2),
        ("notifications/delivery", "00000000-0000-0000-0000-000000000000", 0),
        ("notifications/deadletter", "{dead.pk}", 1),
        ("notifications/deadletter", "{delivered.pk}", 0),
        ("notifications/notification", "{occurrence.pk}", 1),
        ("notifications/channel", "ADA@example.org", 2),
        ("schedules/schedule", "plants", 1),
        ("schedules/schedule", "ada@example.org", 1),
        ("schedules/schedule", "{schedule.pk}", 1),
        ("schedules/schedule", "nothing like it", 0),
        ("schedules/occurrence", "{schedule.pk}", 1),
        ("events/rule", "ada@", 1),
        ("events/rule", "{rule.pk}", 1),
        ("events/rule", "nothing like it", 0),
        ("people/user", "ada", 1),
        ("django_celery_beat/periodictask", "{schedule.pk}", 1),
        ("django_celery_beat/periodictask", "Water", 1),
        ("django_celery_results/taskresult", "work.rescue", 1),
    ],
)
def test_a_search_finds_what_is_meant(operator: Client, story: Story, where: str, term: str, found: int) -> None:
    answer = operator.get(f"/admin/{where}/", {"q": term.format(**vars(story))})
    assert (answer.status_code, len(answer.context["cl"].result_list)) == (200, found)


@pytest.mark.parametrize(
    ("where", "asked", "found"),
    [
        ("notifications/delivery", {"state": "delivered"}, 1),
        ("notifications/delivery", {"state": "dead", "provider": "webhook"}, 1),
        ("notifications/delivery", {"when": "hour"}, 0),  # by their slot
        ("notifications/delivery", {"state": "expired"}, 0),
        ("notifications/deadletter", {"state": "unknown"}, 0),
        ("notifications/deadletter", {"state": "dead", "provider": "webhook", "when": "day"}, 1),
        ("notifications/notification", {"origin": "schedule"}, 1),
        ("notifications/notification", {"origin": "test"}, 0),
        ("notifications/channel", {"state": "verified", "provider": "webhook"}, 1),
        ("notifications/channel", {"state": "disabled"}, 0),
        ("schedules/schedule", {"state": "active"}, 1),
        ("schedules/schedule", {"state": "broken"}, 0),
        ("schedules/occurrence", {"outcome": "fired"}, 1),
        ("schedules/occurrence", {"reason": "broken"}, 0),
        ("django_celery_beat/periodictask", {"which": "mirror"}, 1),
        ("django_celery_beat/periodictask", {"which": "others"}, 0),
        ("django_celery_results/taskresult", {"status__exact": "SUCCESS"}, 1),
    ],
)
def test_a_filter_keeps_what_it_says(
    operator: Client, story: Story, where: str, asked: dict[str, str], found: int
) -> None:
    answer = operator.get(f"/admin/{where}/", asked)
    assert (answer.status_code, len(answer.context["cl"].result_list)) == (200, found)


def test_an_empty_list_says_what_that_means_and_a_narrowed_one_that_nothing_matches(operator: Client) -> None:
    assert "No dead letters." in text(operator, "/admin/notifications/deadletter/")
    assert "Nothing matches." in text(operator, "/admin/notifications/deadletter/?state=dead")
    assert "No schedules yet." in text(operator, "/admin/schedules/schedule/")


def test_a_channel_whose_address_is_damaged_does_not_fail_the_list(operator: Client, story: Story) -> None:
    drop_check("notifications_channel", "channel_readable_address")
    type(story.hook).objects.filter(pk=story.hook.pk).update(address=[1], provider="gone")
    assert "cannot be read" in text(operator, "/admin/notifications/channel/")
    assert "cannot be read" in text(operator, page_of("notifications.channel", story.hook))


def test_an_attempt_shows_what_became_of_it(operator: Client, story: Story) -> None:
    shown = text(operator, page_of("notifications.delivery", story.dead))
    assert "It answered 404 Not Found." in shown
    assert "host:1" in shown
    assert str(story.dead.pk) in shown


def test_a_question_that_no_page_asks_is_answered_all_the_same(operator: Client, story: Story) -> None:
    for where in lists():
        answer = operator.get(where, {"provider": "a\0b", "reason": "\0", "state": "\0"})
        assert answer.status_code == 302, where
    deadletters = "/admin/notifications/deadletter/"
    assert operator.post(deadletters, {"action": "discard", "_selected_action": "[]"}).status_code == 400
    assert operator.post("/admin/django_celery_beat/periodictask/add/", {"interval": "x"}).status_code == 400
    assert operator.post(page_of("people.user", story.person), {"groups": "10:00"}).status_code == 400
    assert operator.post("/admin/account/emailaddress/add/", {"user": "Ada"}).status_code == 400


def test_a_periodic_task_of_the_stock_loop_can_be_made_and_changed(operator: Client) -> None:
    every = IntervalSchedule.objects.create(every=5, period="minutes")
    fields = {"name": "tidy", "regtask": "work.rescue", "task": "", "interval": every.pk, "enabled": "on"}
    fields |= {"args": "[]", "kwargs": "{}", "headers": "{}"}
    made = operator.post("/admin/django_celery_beat/periodictask/add/", fields)
    assert made.status_code == 302, made.context["errors"]
    task = PeriodicTask.objects.get(name="tidy")
    assert (task.task, task.enabled) == ("work.rescue", True)
    changed = operator.post(page_of("django_celery_beat.periodictask", task), fields | {"name": "tidy up"})
    assert changed.status_code == 302
    assert PeriodicTask.objects.get().name == "tidy up"


def test_a_person_can_be_made_and_changed(operator: Client) -> None:
    password = "a long enough passphrase"
    fields = {"email": "new@example.org", "name": "New", "password1": password, "password2": password}
    made = operator.post("/admin/people/user/add/", fields | {"usable_password": "true"})
    assert made.status_code == 302, made.context["errors"]
    assert operator.login(email="new@example.org", password=password)


def test_the_list_of_notifications_shows_and_filters_outcomes_by_an_index(operator: Client, story: Story) -> None:
    page = text(operator, "/admin/notifications/notification/")
    assert "partial" in page
    for outcome, found in (("partial", 1), ("failed", 0), ("full", 0), ("open", 0), ("dropped", 0)):
        answer = operator.get("/admin/notifications/notification/", {"outcome": outcome})
        assert len(answer.context["cl"].result_list) == found, outcome
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(
            "EXPLAIN SELECT * FROM notifications_notification WHERE outcome = 'partial' ORDER BY id DESC LIMIT 50"
        )
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "notification_outcome" in plan


def test_an_operator_changes_what_becomes_of_an_unknown_outcome_and_nothing_else_of_a_channel(
    operator: Client, story: Story
) -> None:
    page = f"/admin/notifications/channel/{story.hook.pk}/change/"
    shown = text(operator, page)
    assert 'name="on_unknown"' in shown
    assert "If Carillon cannot tell whether a message arrived" in shown
    operator.post(
        page,
        {
            "on_unknown": "hold",
            "label": "Mine",
            "disabled_code": "note",
            "disabled_params": {"said": "x"},
            "sealed_secrets": "x",
        },
    )
    before, after = story.hook, Channel.objects.get(pk=story.hook.pk)
    assert after.on_unknown == "hold"
    assert (after.label, after.disabled_code, after.sealed_secrets) == (before.label, "", before.sealed_secrets)


@pytest.mark.parametrize(
    ("model", "row", "way"),
    [
        ("schedules.schedule", "", ["Schedules"]),
        ("schedules.schedule", "schedule", ["Schedules", "Water the plants"]),
        ("schedules.occurrence", "", ["Schedules", "Occurrences"]),
    ],
)
def test_the_way_to_a_page_names_nothing_twice(
    operator: Client, story: Story, model: str, row: str, way: list[str]
) -> None:
    there = page_of(model, getattr(story, row)) if row else reverse(f"admin:{model.replace('.', '_')}_changelist")
    [heading] = re.findall(r"<h1.*?</h1>", operator.get(there).content.decode(), re.DOTALL)
    assert re.findall(r"<a [^>]*truncate[^>]*>([^<]+)</a>", heading) == way
