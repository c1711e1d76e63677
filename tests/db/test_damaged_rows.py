"""A damaged row is quarantined alone: another person's reminder fires beside it, its owner is told, pages open."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import PeriodicTask

from common import zones
from common.admin.base import BaseAdmin
from config.celery import app
from notifications.channels import owner_notices
from notifications.models import Channel, Delivery, Notification
from people.models import User
from schedules.beat import zone_updates
from schedules.beat.scheduler import Scheduler
from schedules.firing import fire
from schedules.models import Schedule
from tests.db.api.conftest import Api
from tests.make import (
    NINE,
    drop_check,
    happen,
    make_channel,
    make_connection,
    make_delivery,
    make_schedule,
    make_user,
    send_now,
    signed_in,
    take,
    without_triggers,
)

MOST = 2**31 - 1

# What is set in SQL, and the state of the schedule afterwards.
DAMAGES = [
    *[
        ("people_user", f"time_zone = '{zone}', quiet_from = '00:00', quiet_until = '23:59'", "active")
        for zone in ("Mars/Olympus", "localtime", "Factory", "posixrules", "../../etc/passwd", "/etc/hosts", "Europe")
    ],
    ("people_user", r"time_zone = E'\x07', quiet_from = '00:00', quiet_until = '23:59'", "active"),
    ("people_user", "quiet_from = '22:00', quiet_until = NULL", "active"),
    ("people_user", r"name = E'\u202e{name}\x07'", "active"),
    ("schedules_schedule", "time_zone = 'Mars/Olympus'", "broken"),
    ("schedules_schedule", "time_zone = 'localtime'", "broken"),
    ("schedules_schedule", "time_zone = ''", "broken"),
    ("schedules_schedule", "kind = 'tidal'", "broken"),
    *[
        ("schedules_schedule", f"rule = '{rule}'", "broken")
        for rule in ('{"time": "99:99"}', "{}", "[]", "null", "5", '"x"', '{"time": {"a": [1]}}', '{"time": 1e300}')
    ],
    ("schedules_schedule", """kind = 'interval', rule = '{"every": 1e300, "unit": "days", "anchor": 1}'""", "broken"),
    ("schedules_schedule", f"fired_count = {MOST}", "active"),
    ("schedules_schedule", f"max_count = {MOST}, fired_count = {MOST - 1}", "finished"),
    ("schedules_schedule", f"grace = {MOST}, spread = 0, stale_after = {MOST}, escalate_after = {MOST}", "active"),
    ("schedules_schedule", "nag_every = 32767, nag_times = -1, nag_channel_ids = ARRAY[gen_random_uuid()]", "active"),
    ("schedules_schedule", "grace = 0", "active"),
    ("schedules_schedule", f"spread = {MOST}", "active"),
    ("schedules_schedule", "starts_at = '0002-01-01Z', ends_at = '9999-01-01Z'", "active"),
    ("schedules_schedule", "excluded = '{0002-01-01, 9998-12-31}'", "active"),
    ("schedules_schedule", "channel_order = ARRAY[gen_random_uuid()]", "active"),
    ("schedules_schedule", "channel_order = '{NULL}'", "active"),
    ("schedules_schedule", r"title = E'\x07', body = E'{name} {slot} {\x01'", "active"),
    ("schedules_schedule", "body = repeat('{schedule}', 100000)", "active"),
    ("django_celery_beat_periodictask", f"total_run_count = {MOST}", "active"),
]  # fmt: skip

# What CHECK constraints refuse; put past them, it still stops nobody else.
REFUSED = [
    ("people_user", "quiet_from = '24:00', quiet_until = '07:00'", "people_user_quiet_from"),
    ("people_user", "quiet_from = '22:00', quiet_until = '24:00'", "people_user_quiet_until"),
    ("people_user", "last_login = 'infinity'", "people_user_readable_instants"),
    ("people_user", "date_joined = '-infinity'", "people_user_readable_instants"),
    ("schedules_schedule", "misfire = 'maybe'", "schedule_known_misfire"),
    *[
        ("schedules_schedule", f"{column} = '{instant}'", "schedule_readable_instants")
        for column in ("starts_at", "next_fire_at", "last_fired_at", "snoozed_until")
        for instant in ("-infinity", "0044-03-15 BC")
    ],
    ("schedules_schedule", "ends_at = 'infinity'", "schedule_readable_instants"),
    ("schedules_schedule", "created_at = 'infinity'", "schedule_readable_instants"),
    *[
        ("schedules_schedule", f"excluded = '{days}'", "schedule_readable_excluded")
        for days in ("{infinity}", "{-infinity}", "{0044-03-15 BC}", "{NULL}", "{{2026-01-01}}")
    ],
    ("schedules_schedule", "rule = (repeat('[', 5000) || repeat(']', 5000))::jsonb", "schedule_readable_rule"),
    ("schedules_schedule", "rule = (repeat('9', 5000))::jsonb", "schedule_readable_rule"),
    ("schedules_schedule", "data = (repeat('[', 5000) || repeat(']', 5000))::jsonb", "schedule_readable_data"),
    ("schedules_schedule", "data = (repeat('9', 5000))::jsonb", "schedule_readable_data"),
    (
        "schedules_schedule",
        "job_kind = 'feed', job_payload = (repeat('[', 5000) || repeat(']', 5000))::jsonb",
        "schedule_readable_job_payload",
    ),
    ("notifications_channel", "address = '5'", "channel_readable_address"),
    (
        "notifications_channel",
        "address = ('{\"a\": [-' || repeat('9', 5000) || ']}')::jsonb",
        "channel_readable_address",
    ),
    ("notifications_channel", "verified_at = '-infinity'", "channel_readable_instants"),
]


def damage(table: str, change: str, row: Any, past_triggers: bool = False) -> None:
    with without_triggers() if past_triggers else nullcontext(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {change} WHERE id = %s", [row])  # noqa: S608 - the tables above


@pytest.fixture
def ada() -> User:
    user = make_user(email="ada@example.org", time_zone="UTC")
    make_channel(user)
    return user


@pytest.fixture
def hers(ada: User) -> Schedule:
    return make_schedule(ada, list(ada.channels.all()))


@pytest.fixture
def bob() -> User:
    return make_user(email="bob@example.org", time_zone="UTC")


@pytest.fixture
def his(bob: User) -> Schedule:
    return make_schedule(bob)


def row_of(table: str, schedule: Schedule) -> Any:
    return {
        "people_user": schedule.user_id,
        "schedules_schedule": schedule.id,
        "notifications_channel": schedule.channels.values_list("id", flat=True)[0],
        "django_celery_beat_periodictask": schedule.periodic_task_id,
    }[table]


def states(schedule: Schedule) -> list[str]:
    found = Delivery.objects.filter(notification__origin_id=schedule.id)
    for key in found.filter(state="pending", available_at__lte=timezone.now()).values_list("id", flat=True):
        send_now(key)
    return list(found.values_list("state", flat=True))


def notices_of(user: User) -> int:
    return Notification.objects.filter(user_id=user.pk, origin="notice", deliveries__provider="inbox").count()


def pages_of(schedule: Schedule) -> list[str]:
    own = f"/reminders/{schedule.id}/"
    return ["/reminders/", own, f"{own}edit/", f"{own}explain/", "/inbox/", "/history/", "/channels/", "/settings/"]


ADMIN_LISTS = [
    "/admin/",
    "/admin/people/user/",
    "/admin/schedules/schedule/",
    "/admin/schedules/occurrence/",
    "/admin/django_celery_beat/periodictask/",
    "/admin/notifications/notification/",
    "/admin/notifications/delivery/",
]


@pytest.mark.parametrize(("table", "change", "state"), DAMAGES)
def test_a_damaged_row_stops_nothing_else(
    client: Client, ada: User, hers: Schedule, his: Schedule, table: str, change: str, state: str
) -> None:
    damage(table, change, row_of(table, hers))
    assert fire.fire_due(NINE) == 2
    assert states(his) == ["delivered"]
    hers.refresh_from_db()
    assert hers.state == state
    ada.refresh_from_db()
    if state == "broken":
        assert [row.reason for row in hers.occurrences.all()] == ["broken"]
        assert hers.error.startswith("InvalidRule: ")
    elif "spread" not in change or "spread = 0" in change:
        assert states(hers) == ["delivered"]
    assert notices_of(ada) == (1 if state == "broken" or ada.has_damaged_zone else 0)
    assert notices_of(his.user) == 0
    client.force_login(ada)
    for page in pages_of(hers):
        assert client.get(page, follow=True).status_code == 200, page
    assert client.post(reverse("account_logout")).status_code == 302
    client.force_login(make_user(is_staff=True, is_superuser=True))
    for page in (f"people/user/{hers.user_id}", f"schedules/schedule/{hers.id}"):
        assert client.get(f"/admin/{page}/change/").status_code == 200, page


def test_the_lists_of_the_admin_show_all_damaged_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for table, change, _ in DAMAGES:
        schedule = make_schedule(make_user(time_zone="UTC"))
        damage(table, change, row_of(table, schedule))
    assert fire.fire_due(NINE) == len(DAMAGES)
    monkeypatch.setattr(BaseAdmin, "list_per_page", 200)
    staff = signed_in(is_staff=True, is_superuser=True)
    for page in ADMIN_LISTS:
        answer = staff.get(page)
        assert answer.status_code == 200, page
        assert page == "/admin/" or len(answer.context["cl"].result_list) >= len(DAMAGES), page


@pytest.mark.parametrize(("table", "change", "constraint"), REFUSED)
def test_the_database_refuses_what_python_cannot_read(
    hers: Schedule, his: Schedule, table: str, change: str, constraint: str
) -> None:
    key = row_of(table, hers)
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        damage(table, change, key)
    drop_check(table, constraint)
    damage(table, change, key)
    assert fire.read_clock().next_due is not None
    while fire.fire_due(NINE):
        pass
    assert states(his) == ["delivered"]
    assert not Schedule.objects.filter(id=hers.id, next_fire_at__lte=NINE).exists()


def test_many_sound_schedules_in_the_batch_of_a_damaged_one_fire(bob: User, hers: Schedule) -> None:
    channel = make_channel(bob)
    theirs = [make_schedule(bob, [channel]) for _ in range(5)]
    Schedule.objects.filter(id=hers.id).update(next_fire_at=NINE - timedelta(days=1))
    drop_check("people_user", "people_user_quiet_from")
    damage("people_user", "quiet_from = '24:00', quiet_until = '07:00'", hers.user_id)
    assert fire.fire_due(NINE) == 6
    assert all(states(schedule) == ["delivered"] for schedule in theirs)
    assert Schedule.objects.values_list("state", flat=True).get(id=hers.id) == "broken"


def test_a_broken_schedule_and_a_damaged_zone_are_told_once(ada: User, hers: Schedule) -> None:
    damage("people_user", "time_zone = 'Mars/Olympus'", ada.pk)
    for day in range(3):
        fire.fire_due(NINE + timedelta(days=day))
    assert notices_of(ada) == 1
    damage("schedules_schedule", "kind = 'tidal'", hers.id)
    fire.fire_due(NINE + timedelta(days=3))
    assert notices_of(ada) == 2


def test_a_schedule_without_a_channel_is_told_of_once(ada: User, bob: User) -> None:
    make_schedule(ada, [])
    nobody = make_schedule(bob, [])
    for day in range(3):
        fire.fire_due(NINE + timedelta(days=day))
    assert notices_of(ada) == 1
    assert nobody.occurrences.filter(reason="no-channel").count() == 3  # and nowhere to say it


ADDRESSES = ["{}", '{"url": 5}', '{"url": "http://["}', '{"url": {"a": 1}}', '{"url": null}']


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("provider", ["webhook", "ntfy", "email", "telegram", "slack", "discord", "apprise", "pigeon"])
def test_a_damaged_address_ends_its_own_delivery_and_its_owner_is_told(
    client: Client, ada: User, bob: User, provider: str, address: str
) -> None:
    hook, sound = make_channel(ada, "webhook", secrets={}), make_delivery(make_channel(bob))
    damage("notifications_channel", f"provider = '{provider}', address = '{address}'", hook.id)
    damaged = make_delivery(Channel.objects.get(id=hook.id))
    for delivery in (damaged, sound):
        send_now(delivery.id)
        delivery.refresh_from_db()
    assert (damaged.state, sound.state) == ("dead", "delivered")
    owner_notices.tell_owners(timezone.now())
    assert notices_of(ada) == 1
    client.force_login(ada)
    for page in ("/channels/", "/history/"):
        assert client.get(page).status_code == 200


@pytest.mark.parametrize("change", ["time_zone = 'Mars/Olympus'", "time_zone = 'localtime'"])
def test_a_claimed_mail_of_somebody_whose_zone_is_damaged_is_sent(ada: User, change: str) -> None:
    delivery = make_delivery(ada.channels.get())
    damage("people_user", f"{change}, quiet_from = '00:00', quiet_until = '23:59'", ada.pk)
    send_now(delivery.id)
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_what_cannot_be_read_after_its_claim_ends_as_not_sent(ada: User) -> None:
    delivery = make_delivery(make_channel(ada, "webhook"))
    drop_check("people_user", "people_user_quiet_from")
    damage("people_user", "quiet_from = '24:00', quiet_until = '07:00'", ada.pk)
    assert take(delivery.id, "worker") is None
    delivery.refresh_from_db()
    assert (delivery.state, [row.outcome for row in delivery.history.all()]) == ("dead", ["rejected"])


def test_a_damaged_person_stops_nobody_elses_notices(ada: User, bob: User) -> None:
    make_channel(bob)
    for user in (ada, bob):
        hook = make_channel(user, "webhook", failing_since=timezone.now())
        make_delivery(hook, state="dead", reason="It was the cat.", settled_at=timezone.now())
    drop_check("people_user", "people_user_quiet_from")
    damage("people_user", "quiet_from = '24:00'", ada.pk)
    owner_notices.tell_owners(timezone.now())
    assert notices_of(bob) == 1


@pytest.mark.django_db(transaction=True)
def test_a_tick_of_the_beat_survives_a_person_with_a_damaged_zone(ada: User) -> None:
    now = fire.read_clock().now
    make_schedule(
        ada, list(ada.channels.all()), now=now - timedelta(days=1), kind="once",
        rule={"at": f"{now - timedelta(seconds=1):%Y-%m-%dT%H:%M:%S.%f}"},
    )  # fmt: skip
    damage("people_user", "time_zone = 'Mars/Olympus'", ada.pk)
    Scheduler(app=app).tick()
    assert Notification.objects.filter(origin="schedule").count() == 1


@pytest.mark.parametrize("zone", ["Mars/Olympus", "localtime", "Factory", "posixrules"])
def test_no_form_takes_a_zone_that_not_every_process_knows(client: Client, ada: User, zone: str) -> None:
    client.force_login(make_user(is_staff=True, is_superuser=True))
    page = f"/admin/people/user/{ada.pk}/change/"
    refused = client.post(page, {"email": ada.email, "name": "Ada", "time_zone": zone})
    assert "time_zone" in refused.context["adminform"].form.errors
    client.force_login(ada)
    assert "time_zone" in client.post("/settings/", {"name": "Ada", "time_zone": zone}).context["form"].errors
    ada.refresh_from_db()
    assert ada.time_zone == "UTC"


def test_the_database_knows_every_zone_that_may_be_chosen() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_timezone_names")
        assert zones.known() <= {name for (name,) in cursor.fetchall()}


def test_a_damaged_zone_is_said_on_each_page(client: Client, ada: User) -> None:
    damage("people_user", "time_zone = 'Mars/<b>Olympus'", ada.pk)
    client.force_login(ada)
    page = client.get("/reminders/").content.decode()
    assert "Mars/&lt;b&gt;Olympus" in page


def test_the_admin_opens_beside_a_crontab_whose_zone_is_gone(client: Client, hers: Schedule) -> None:
    assert hers.periodic_task is not None
    client.force_login(make_user(is_staff=True, is_superuser=True))
    stock = PeriodicTask.objects.create(name="tidy", task="work.rescue", crontab_id=hers.periodic_task.crontab_id)
    damage("django_celery_beat_crontabschedule", "timezone = 'Mars/Olympus'", hers.periodic_task.crontab_id)
    for page in ("", f"{hers.periodic_task_id}/change/", f"{stock.pk}/change/"):
        assert client.get(f"/admin/django_celery_beat/periodictask/{page}").status_code == 200, page
    assert client.get("/admin/django_celery_beat/crontabschedule/").status_code == 200


def test_the_number_of_statements_does_not_grow_with_the_damaged_rows_of_a_batch() -> None:
    counts = []
    for size in (1, 20):
        for _ in range(size):
            user = make_user(password=None, time_zone="Mars/Olympus")
            make_schedule(user)
            make_schedule(user, [])
            broken = make_schedule(user, [])
            damage("schedules_schedule", "kind = 'tidal'", broken.id)
        with CaptureQueriesContext(connection) as queries:
            assert fire.fire_due(NINE) == 3 * size
        counts.append(len(queries))
        Schedule.objects.all().delete()
    assert counts[0] == counts[1] <= 18


def test_the_owner_of_a_schedule_that_a_new_zone_database_breaks_is_told(ada: User, hers: Schedule) -> None:
    now = fire.read_clock().now
    Schedule.objects.filter(id=hers.id).update(next_fire_at=now + timedelta(days=1))
    damage("schedules_schedule", "time_zone = 'Mars/Olympus'", hers.id)
    list(zone_updates.recompute(["Mars/Olympus"]))
    hers.refresh_from_db()
    assert (hers.state, notices_of(ada)) == ("broken", 1)


def test_a_database_that_is_not_migrated_quarantines_nothing(hers: Schedule) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE people_user RENAME COLUMN quiet_from TO quiet_since")
    with pytest.raises(ProgrammingError):
        fire.fire_due(NINE)
    assert Schedule.objects.values_list("state", flat=True).get(id=hers.id) == "active"


def test_a_damaged_schedule_that_is_due_can_be_paused_by_its_owner(client: Client, ada: User, hers: Schedule) -> None:
    Schedule.objects.filter(id=hers.id).update(next_fire_at=NINE, kind="tidal")
    client.force_login(ada)
    assert client.post(f"/reminders/{hers.id}/pause/").status_code == 302
    hers.refresh_from_db()
    assert hers.state == "paused"


DEEP = "(repeat('[', 3000) || repeat(']', 3000))::jsonb"


@pytest.mark.parametrize("damaged_value", [DEEP, "(repeat('9', 5000))::jsonb"])
def test_lists_of_a_person_and_of_the_api_show_the_other_rows(ada: User, damaged_value: str) -> None:
    damaged, sound = happen(ada, data={}), happen(ada, data={})
    damage("events_event", f"data = {damaged_value}", damaged.id, past_triggers=True)
    page = signed_in(ada).get("/events/").content.decode()
    assert (str(sound.id) in page, str(damaged.id) in page) == (True, False)
    items = Api(ada)("GET", "/events").json()["items"]
    assert [one["id"] for one in items] == [str(sound.key)]


def test_a_list_of_the_api_goes_on_behind_a_chunk_of_damaged_rows(ada: User) -> None:
    sound, *damaged = [happen(ada, data={}) for _ in range(3)]
    for one in damaged:
        damage("events_event", f"data = {DEEP}", one.id, past_triggers=True)
    first = Api(ada)("GET", "/events?limit=1").json()
    assert (first["items"], bool(first["next"])) == ([], True)
    last = Api(ada)("GET", f"/events?limit=1&cursor={first['next']}").json()
    assert ([one["id"] for one in last["items"]], last["next"]) == ([str(sound.key)], None)


def test_the_channels_are_shown_beside_a_delivery_that_cannot_be_read(ada: User) -> None:
    letter = make_delivery(make_channel(ada, "webhook", label="Home"))
    damage("notifications_delivery", f"reason_params = {DEEP}", letter.id, past_triggers=True)
    assert "Home" in signed_in(ada).get("/channels/").content.decode()


@pytest.mark.parametrize("change", [f"address = {DEEP}", f"failing_params = {DEEP}", "disabled_at = '-infinity'"])
def test_the_connections_are_shown_beside_one_that_cannot_be_read(ada: User, change: str) -> None:
    damaged, _sound = [make_connection(ada, label=label) for label in ("Broken one", "Sound one")]
    damage("jobs_connection", change, damaged.id, past_triggers=True)
    page = signed_in(ada).get("/connections/").content.decode()
    assert ("Sound one" in page, "Broken one" in page) == (True, False)


def test_a_damaged_reason_fails_neither_the_first_page_of_the_admin_nor_anybodys_notice(ada: User, bob: User) -> None:
    for user in (ada, bob):
        hook = make_channel(user, "webhook", failing_since=timezone.now())
        letter = make_delivery(hook, state="dead", reason="It was the cat.", settled_at=timezone.now())
        make_channel(user) if user == bob else damage(
            "notifications_delivery", f"reason_params = {DEEP}", letter.id, past_triggers=True
        )
    assert signed_in(is_staff=True, is_superuser=True).get("/admin/").status_code == 200
    owner_notices.tell_owners(timezone.now())
    assert (notices_of(ada), notices_of(bob)) == (1, 1)


def test_a_selected_row_that_cannot_be_read_is_named_and_nothing_is_done(ada: User) -> None:
    hook = make_channel(ada, "webhook")
    letter = make_delivery(hook, state="dead", reason="It was the cat.", settled_at=timezone.now())
    damage("notifications_delivery", f"reason_params = {DEEP}", letter.id, past_triggers=True)
    staff = signed_in(is_staff=True, is_superuser=True)
    answer = staff.post(
        "/admin/notifications/deadletter/", {"action": "replay", "_selected_action": str(letter.id)}, follow=True
    )
    shown = answer.content.decode()
    assert answer.status_code == 200
    assert "reason_params" in shown and str(letter.id) in shown
