"""Problems of the installation are told to operators who chose channels: once while they last, and once at the end."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError, connection, transaction
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django_celery_beat.models import IntervalSchedule, PeriodicTask
from psycopg import errors

from common.redis import client, served_queues
from common.uuid7 import uuid7
from config import operator_alerts
from config.operator_alerts import OperatorAlerts
from events.intake import ledger
from events.kinds.event import EVENT
from events.models import Digest, Event, FlowSettings, OpenAlert, Run, Step
from events.pure.envelope import Envelope
from events.runs import incidents, operators
from jobs.models import Batch, Job
from notifications.deliveries import refusals
from notifications.messages.message import Delivered, Destination, Message
from notifications.models import Attempt, Channel, Delivery, Notification
from notifications.providers import email, webhook
from people.models import User
from schedules.beat import periodic_runs
from schedules.models import Heartbeat, Schedule
from tests.make import NOON, make_channel, make_delivery, make_rule, make_schedule, make_user, signed_in
from watches.models import StatusMail, StatusPage, Subscriber
from work import dead_letters
from work.broker import backlog
from work.dead_letters import Which, Who
from work.engine import runner
from work.kinds import KINDS, kind_of
from work.models import Backup
from work.operators import problems

SENT: list[tuple[str, str, str]] = []
"""What went out without the engine: provider, subject, body."""


@pytest.fixture
def boss() -> User:
    user = make_user(email="boss@example.org", is_staff=True)
    own = [make_channel(user, "email", label="Mail"), make_channel(user, "webhook", label="Hook")]
    chosen = {"channels": [str(one.id) for one in own], "installation": True}
    FlowSettings.objects.create(user=user, flow="incident", settings=chosen)
    return user


@pytest.fixture(autouse=True)
def all_is_well(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Heartbeat.objects.create(process="beat:1")
    served_queues.announce(settings.QUEUES)
    for provider in (email.Email, webhook.Webhook):

        def send(self: Any, message: Message, destination: Destination) -> Delivered:
            SENT.append((self.kind, message.subject, message.body))
            return Delivered()

        monkeypatch.setattr(provider, "send", send)
    yield
    SENT.clear()


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> OperatorAlerts:
    """Its thread is not started."""
    monkeypatch.setattr(OperatorAlerts, "start", lambda self: None)
    return OperatorAlerts()


def look(watch: OperatorAlerts) -> list[str]:
    """The subjects of what was told, by now."""
    watch._look()
    handle_new()
    return told()


def handle_new(types: str = "alert.") -> None:
    for event_id in Event.objects.filter(state="pending", type__startswith=types).order_by("id").values("id"):
        Event.objects.filter(id=event_id["id"]).update(available_at=NOON)
        runner.run(EVENT, event_id["id"], "worker")


def told() -> list[str]:
    return list(
        Notification.objects.filter(origin="event").order_by("created_at", "id").values_list("subject", flat=True)
    )


def make_dead(model: type[Any], cause: str = "", **fields: Any) -> Any:
    """A dead letter of any kind of work."""
    words, row = model.words, model.objects.create(**fields)
    changes: list[dict[str, Any]] = [
        {"state": words.working, "lease_token": uuid7(), "lease_until": NOON, "tries": 4},
        {
            "state": "dead",
            "lease_token": None,
            "lease_until": None,
            "settled_at": timezone.now(),
            "cause": cause or f"{model._meta.model_name}-broke",
            "reason_code": "lost",
        },
    ]
    with transaction.atomic():  # else a worker that runs may rescue what seems to have been lost
        for change in changes:
            model.objects.filter(id=row.id).update(**change)
    return row


def dead_letters_of_each_kind(user: User) -> dict[str, Any]:
    run = Run.objects.create(user=user, flow="incident", key="a", correlation_id=uuid7())
    page = StatusPage.objects.create(user=user, slug="shop", title="Shop")
    reader = Subscriber.objects.create(page=page, address="eve@example.org")
    fields: dict[type[Model], dict[str, Any]] = {
        Event: {"user": user, "type": "order.paid", "source": "shop", "key": "1", "correlation_id": uuid7()}
        | {"occurred_at": NOON},
        Job: {"user": user, "kind": "feed", "slot": NOON},
        Batch: {"user": user, "audience": "everybody", "origin": "event"},
        Digest: {"user": user, "rule": make_rule(user), "type_pattern": "order.*", "available_at": NOON},
        Step: {"user": user, "run": run, "handler": "brand.fetch", "key": "1", "correlation_id": uuid7()},
        StatusMail: {"user": user, "subscriber": reader, "what": "confirm"},
    }
    made = {kind_of(model).name: make_dead(model, **given) for model, given in fields.items()}
    delivery = make_delivery(make_channel(user), state="dead", settled_at=timezone.now(), tries=4)
    return made | {"delivery": delivery}


def test_a_dead_letter_of_each_kind_of_work_is_told_once_with_its_facts_and_once_when_it_is_over(
    boss: User, watch: OperatorAlerts
) -> None:
    made = dead_letters_of_each_kind(make_user())
    assert set(made) == set(KINDS)
    assert len(look(watch)) == len(look(watch)) == len(made)
    for name, row in made.items():
        [body] = Notification.objects.filter(body__contains=str(row.id)).values_list("body", flat=True)
        assert "Tries: 4" in body
        assert f"Queue: {KINDS[name].queue}" in body
        assert f"{settings.BASE_URL}/admin/" in body
    [of_event] = Notification.objects.filter(body__contains="order.paid").values_list("body", flat=True)
    assert "Source: shop" in of_event
    for name in made:
        dead_letters.discard(Which(KINDS[name]).rows(), "all", Who(boss.pk, boss.email), "Not needed.")
    ended = look(watch)[len(made) :]
    assert len(ended) == len(made) == len([one for one in ended if one.startswith("Over: ")])
    assert not OpenAlert.objects.exists()
    assert len(look(watch)) == 2 * len(made)


def test_a_storm_of_one_cause_is_one_alert_and_fifty_causes_are_fifty(boss: User, watch: OperatorAlerts) -> None:
    ada = make_user()
    for number in range(100):
        make_dead(Job, f"cause-{number % 50:02}", user=ada, kind="feed", slot=NOON)
    look(watch)
    with CaptureQueriesContext(connection) as captured:
        look(watch)
    assert len(told()) == OpenAlert.objects.count() == 50
    assert len(captured) <= 22
    make_dead(Job, "cause-00", user=ada, kind="feed", slot=NOON)
    assert len(look(watch)) == 50


def test_causes_that_begin_by_hundreds_are_one_alert(boss: User, watch: OperatorAlerts) -> None:
    ada = make_user()
    for number in range(60):
        make_dead(Job, f"cause-{number:02}", user=ada, kind="feed", slot=NOON)
    [subject] = look(watch)
    assert "59 more" in subject
    Job.objects.exclude(cause="cause-00").update(state="cancelled")
    assert len(look(watch)) == 1
    Job.objects.update(state="cancelled")
    assert [one.startswith("Over: ") for one in look(watch)] == [False, True]


def test_what_died_days_ago_is_told_to_nobody(boss: User, watch: OperatorAlerts) -> None:
    make_delivery(make_channel(make_user()), state="dead", settled_at=timezone.now() - timedelta(days=2))
    assert look(watch) == []


def test_each_operator_who_chose_it_is_told_in_their_language(boss: User, watch: OperatorAlerts) -> None:
    other = make_user(is_staff=True, language="de")
    no_operator, not_chosen, gone = make_user(), make_user(is_staff=True), make_user(is_staff=True, is_active=False)
    for user, installation in ((other, True), (no_operator, True), (not_chosen, False), (gone, True)):
        chosen = {"channels": [str(make_channel(user).id)], "installation": installation}
        FlowSettings.objects.create(user=user, flow="incident", settings=chosen)
    Heartbeat.objects.update(last_seen_at=NOON)
    look(watch)
    assert dict(Notification.objects.values_list("user__email", "subject")) == {
        boss.email: "No beat is running",
        other.email: "Es läuft kein Beat",
    }


def test_a_stopped_beat_is_one_cause_and_rescue_goes_on_without_it(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(operator_alerts.current_app, "send_task", lambda name, **_: sent.append(name))
    Heartbeat.objects.update(last_seen_at=NOON)
    cache.set(periodic_runs._key("work.rescue"), 1, 60)  # has not run for long
    with django_capture_on_commit_callbacks(execute=True):
        watch._look()
    handle_new()
    assert (told(), sent) == (["No beat is running"], ["work.rescue"])
    Heartbeat.objects.create(process="beat:2")
    cache.delete(periodic_runs._key("work.rescue"))
    assert look(watch) == ["No beat is running", "Over: No beat is running"]


def test_periodic_tasks_that_do_not_run_are_told(boss: User, watch: OperatorAlerts) -> None:
    every = IntervalSchedule.objects.create(every=60, period="seconds")
    PeriodicTask.objects.create(name="count-tries", task="work.count_tries", interval=every, enabled=False)
    cache.set(periodic_runs._key("work.rescue"), 1, 60)
    assert sorted(look(watch)) == [
        "The periodic task count-tries does not run",
        "The periodic task rescue does not run",
    ]
    cache.delete(periodic_runs._key("work.rescue"))


@pytest.mark.parametrize("was_taken", [True, False])
def test_backups_that_do_not_succeed_are_told(
    was_taken: bool, boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where none ever did."""
    monkeypatch.setattr(settings, "BACKUP_TO", "/srv/backups")
    past = timezone.now() - timedelta(hours=49)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE django_migrations SET applied = now() - interval '47 hours'")
    if was_taken:
        Backup.objects.create(name="old.age", size=1, taken_at=past)
    else:
        assert look(watch) == []
        with connection.cursor() as cursor:
            cursor.execute("UPDATE django_migrations SET applied = now() - interval '49 hours'")
    assert look(watch) == ["Backups do not succeed"]
    assert look(watch) == ["Backups do not succeed"]
    Backup.objects.create(name="new.age", size=1, taken_at=timezone.now())
    assert look(watch)[1:] == ["Over: Backups do not succeed"]


def test_work_that_waits_is_told(boss: User, watch: OperatorAlerts) -> None:
    inbox = make_channel(make_user())
    ids = [make_delivery(inbox).id for _ in range(10)]
    Delivery.objects.filter(id__in=ids[1:]).update(available_at=timezone.now() - timedelta(seconds=90))
    assert look(watch) == []
    late = timezone.now() - timedelta(seconds=90)
    Delivery.objects.filter(id__in=ids).update(available_at=late, is_bulk=True)  # which may take hours
    assert look(watch) == []
    Delivery.objects.filter(id__in=ids).update(is_bulk=False)
    assert look(watch) == ["Work waits: deliveries"]


def test_one_that_waits_for_long_is_told(boss: User, watch: OperatorAlerts) -> None:
    waiting = make_delivery(make_channel(make_user()))
    Delivery.objects.filter(id=waiting.id).update(available_at=timezone.now() - timedelta(minutes=10))
    assert look(watch) == ["Work waits: deliveries"]


@pytest.mark.parametrize(("ago", "count"), [(20, 0), (55, 1)])
def test_a_queue_that_was_not_served_for_a_while_is_told(ago: int, count: int) -> None:
    queue = settings.QUEUES[0]
    cache.set(served_queues._key(queue), 1, served_queues.REMEMBERED - ago)
    assert [one.key for one in problems.queues() or []] == [f"queue:{queue}"] * count


def test_a_full_disk_of_another_machine_lasts_until_that_one_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "_has_room", lambda: True)
    here = f"disk:{socket.gethostname()}"
    known = ["disk:elsewhere", here, problems.DATABASE_FULL.key, "late:delivery"]
    assert [one.key for one in problems.disks(known)] == ["disk:elsewhere"]


def test_reminders_that_cannot_be_read_are_told_many_at_once_as_one(boss: User, watch: OperatorAlerts) -> None:
    ada = make_user()
    made = [make_schedule(ada, []).id for _ in range(6)]
    broken = {"state": "broken", "next_fire_at": None, "error": "No such zone."}
    Schedule.objects.filter(id=made[0]).update(**broken)
    make_schedule(ada, [], **broken, deleted_at=NOON)
    assert look(watch) == ["A reminder cannot be read"]
    assert str(made[0]) in Notification.objects.get().body
    Schedule.objects.filter(id__in=made[1:]).update(**broken)
    assert look(watch)[1:] == ["A reminder cannot be read, and 4 more"]


def test_a_full_disk_is_told(boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "_has_room", lambda: False)
    [subject] = look(watch)
    assert "is nearly full" in subject
    monkeypatch.setattr(problems, "_has_room", lambda: True)
    assert len(look(watch)) == 2


def test_the_probe_of_the_databases_disk_writes_to_it() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT TEXT) {problems._SPILL}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        written = re.search(r"temp read=\d+ written=(\d+)", plan)
        assert written and int(written[1]) * 8192 > 500_000, plan


def test_a_full_disk_of_the_database_is_told_without_it_once_and_its_end_by_the_engine(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert look(watch) == []  # so that the operators are known

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("could not extend file") from errors.DiskFull()

    with monkeypatch.context() as full:
        full.setattr(operators, "update", refuse)
        assert look(watch) == look(watch) == []
    assert [(provider, subject) for provider, subject, _ in SENT] == [("email", "The disk of the database is full")]
    assert look(watch) == ["Over: The disk of the database is full"]
    assert look(watch) == ["Over: The disk of the database is full"]
    assert len(SENT) == 1


def test_a_database_that_is_away_is_told_once_it_lasts(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(watch)

    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as away:
        away.setattr(operators, "chosen", refuse)
        watch._look()
        assert SENT == []
        away.setattr(operator_alerts, "_AWAY", -1.0)
        watch._look()
        watch._look()
    assert [subject for _, subject, _ in SENT] == ["The database does not answer"]


def test_without_workers_operators_are_told_directly_and_the_incident_does_not_ring_again(
    boss: User, watch: OperatorAlerts
) -> None:
    for queue in settings.QUEUES:
        cache.delete(served_queues._key(queue))
    watch._look()
    watch._look()
    [(provider, subject, body)] = SENT
    assert (provider, "and 4 more" in subject) == ("email", True)
    assert "maintenance" in body
    assert not Run.objects.exists()
    served_queues.announce(settings.QUEUES)  # the workers are back, and handle what was recorded
    handle_new()
    assert (told(), Run.objects.get().state["phase"]) == ([], "open")
    assert look(watch) == [f"Over: {subject}"]
    assert len(SENT) == 1


def test_without_the_broker_operators_are_told_directly(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backlog, "problem", lambda: "Redis cannot save to its disk (MISCONF).")
    watch._look()
    [(_, subject, body)] = SENT
    assert subject == "The broker takes no messages"
    assert "MISCONF" in body


@pytest.mark.parametrize(("used", "subject"), [(91, "The memory of Redis is nearly full"), (50, "")])
def test_a_redis_that_is_nearly_full_is_told(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch, used: int, subject: str
) -> None:
    memory = {"maxmemory": 100 << 20, "used_memory": used << 20}
    monkeypatch.setattr(client.client(settings.REDIS_URL), "info", lambda section: memory)
    assert look(watch) == ([subject] if subject else [])


def refuse(channels: list[Channel], outcome: str, tries: int = 1) -> None:
    for channel in channels:
        delivery = make_delivery(channel)
        for number in range(1, tries + 1):
            Attempt.objects.create(
                delivery=delivery,
                replay=0,
                number=number,
                token=uuid7(),
                started_at=timezone.now(),
                finished_at=timezone.now(),
                outcome=outcome,
                reason_code="http",
                reason_params={"status": 500},
            )


def test_a_provider_that_refuses_everybody_is_told_through_another_one_until_something_arrives(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [make_channel(make_user(), "email") for _ in range(3)]
    refuse(people, "delivered")
    refuse(people[:2], "rejected")
    assert look(watch) == []
    refuse(people, "rejected")
    assert look(watch) == ["Email refuses everybody"]
    assert Delivery.objects.latest("id").channel.label == "Hook"
    make_dead(Job, user=boss, kind="feed", slot=NOON)  # another problem meanwhile
    look(watch)
    assert Delivery.objects.latest("id").channel.label == "Hook"
    with monkeypatch.context() as later:
        later.setattr(refusals, "_MINUTES", 0)  # nobody sends any more
        assert len(look(watch)) == 2
    refuse(people[:1], "delivered")
    assert look(watch)[2:] == ["Over: Email refuses everybody"]


def test_a_provider_that_nobody_uses_any_more_refuses_until_something_arrives() -> None:
    assert [problem.key for problem in refusals.refusing(["provider:email"])] == ["provider:email"]
    assert refusals.refusing([]) == []
    refuse([make_channel(make_user(), "email")], "delivered")
    assert refusals.refusing(["provider:email"]) == []


@pytest.mark.parametrize(
    ("provider", "outcome", "is_told"),
    [("email", "retryable", True), ("email", "rejected", False), ("webhook", "retryable", False)],
)
def test_tries_for_one_channel_are_enough_where_everybody_has_the_same_host(
    boss: User, watch: OperatorAlerts, provider: str, outcome: str, is_told: bool
) -> None:
    refuse([make_channel(make_user(), provider)], outcome, tries=3)
    assert bool(look(watch)) == is_told


def test_on_hold_nobody_is_told(boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_alerts.hold, "is_on", lambda: True)
    Heartbeat.objects.update(last_seen_at=NOON)
    assert look(watch) == []


def test_a_failure_in_it_is_logged_and_ends_nothing(
    boss: User, watch: OperatorAlerts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Enough(Exception):
        pass

    def sleep(seconds: float) -> None:
        if "cannot be checked" in caplog.text:
            raise Enough

    monkeypatch.setattr(operator_alerts.time, "sleep", sleep)
    monkeypatch.setattr(problems, "broker", lambda: 1 / 0)
    monkeypatch.setattr(operator_alerts, "connection", type("Nothing", (), {"close": staticmethod(lambda: None)}))
    cache.delete(operator_alerts._TURN)
    with pytest.raises(Enough):
        watch.run()
    assert "ZeroDivisionError" in caplog.text


def test_it_costs_few_statements_that_read_indexes_and_none_without_operators(
    boss: User, watch: OperatorAlerts
) -> None:
    ada = make_user()
    make_delivery(make_channel(ada))
    make_dead(Job, user=ada, kind="feed", slot=NOON)
    with CaptureQueriesContext(connection) as captured:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        watch._look()
    asked = [one["sql"] for one in captured if one["sql"].lstrip("( ").startswith(("SELECT", "WITH"))]
    assert len(captured) <= 26
    for statement in asked:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
        assert "Seq Scan" not in plan or any(small in plan for small in ("_heartbeat", "_hold", "periodictask")), plan
    FlowSettings.objects.update(enabled=False)
    with CaptureQueriesContext(connection) as captured:
        watch._look()
    assert len([one for one in captured if "SAVEPOINT" not in one["sql"]]) == 1


def test_an_operator_chooses_it_on_a_page_and_tries_it(client: Client, boss: User) -> None:
    FlowSettings.objects.all().delete()
    [mail, _hook] = Channel.objects.filter(user=boss).order_by("id")
    own, page = signed_in(boss), reverse("events:incident-settings")
    assert "Tell me of problems of this installation" in own.get(page).content.decode()
    own.post(page, {"first": mail.id, "wait": 5, "again": 60, "flapping": 10, "installation": "on", "enabled": "on"})
    [operator] = operators.chosen()
    assert (operator.user, operator.channels[0]) == (boss, mail)
    assert own.post(reverse("events:incident-test")).status_code == 302
    handle_new()
    assert told()[0] == "A test of your incidents"
    assert Run.objects.get().state["phase"] == "resolved"


def test_nobody_else_can_choose_it(ada: User) -> None:
    own, page = signed_in(ada), reverse("events:incident-settings")
    assert "Tell me of problems of this installation" not in own.get(page).content.decode()
    values = {"first": make_channel(ada).id, "wait": 5, "again": 60, "flapping": 10, "installation": "on"}
    own.post(page, values | {"enabled": "on"})
    assert FlowSettings.objects.get().settings["installation"] is False
    assert operators.chosen() == []


def test_an_operator_acknowledges_for_all_who_were_told(watch: OperatorAlerts, boss: User) -> None:
    other, outsider = make_user(is_staff=True), make_user()
    for user in (other, outsider):
        own = make_channel(user, "email")
        chosen = {"channels": [str(own.id)], "installation": user is other}
        FlowSettings.objects.create(user=user, flow="incident", settings=chosen)
    broken = [make_schedule(outsider, []).id for _ in range(5)]
    Schedule.objects.filter(id__in=broken).update(state="broken", next_fire_at=None, error="No such zone.")
    look(watch)
    mine, theirs = (Run.objects.get(user=user, flow="incident") for user in (boss, other))
    assert mine.key == theirs.key
    data = {"key": mine.key, "title": "Mine"}
    ledger.record(outsider.pk, [Envelope(type="alert.raised", data=data)])
    handle_new()
    assert incidents.act(Run.objects.get(user=outsider), "incident.acknowledged")
    handle_new("incident.")
    assert [phase(one) for one in (mine, theirs)] == ["open", "open"]
    assert incidents.act(mine, "incident.acknowledged")
    handle_new("incident.")
    assert [phase(one) for one in (mine, theirs)] == ["acknowledged", "acknowledged"]
    assert boss.email in signed_in(other).get(f"/flows/{theirs.id}/").content.decode()
    assert incidents.act(mine, "alert.resolved")
    handle_new()
    assert [phase(one) for one in (mine, theirs)] == ["resolved", "acknowledged"]


def test_an_incident_that_was_stopped_is_acknowledged_for_nobody(boss: User) -> None:
    own, other = (
        Run.objects.create(user=user, flow="incident", key="carillon:disk", correlation_id=uuid7(), status=status)
        for user, status in ((boss, "open"), (make_user(is_staff=True), "stopped"))
    )
    for run in (own, other):
        OpenAlert.objects.create(user=run.user, key="disk", alert="disk", title="Full")
    assert not incidents.act(other, "incident.acknowledged")
    assert incidents.act(own, "incident.acknowledged")
    assert [event.user for event in Event.objects.all()] == [boss]


def phase(run: Run) -> str | None:
    run.refresh_from_db()
    return incidents.phase(run)
