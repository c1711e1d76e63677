"""Changes to workers and beats of the harness: shorter waits, faults in a provider, and mutations."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

from django.apps import AppConfig
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from jobs import kinds


class FaultsConfig(AppConfig):
    name = "bench.faults"
    label = "faults"

    def ready(self) -> None:
        """Applied once per process, before any task runs."""
        kinds.PACKAGES.append("bench.faults.job_kinds")
        _rest_briefly()
        self.apply()

    def apply(self) -> None:
        """Apply what the environment asks for. A fork that has another environment calls it again."""
        _shorten()
        _mutate(os.environ.get("FAULTS_MUTATION", ""))
        if "misbehaving" in _wished():
            _misbehave()
        if "fourfold" in _wished():
            _publish_fourfold()
        if "cut" in _wished():
            _cut_connections()


def _wished() -> list[str]:
    return os.environ.get("FAULTS_WITH", "").split(",")


def _rest_briefly() -> None:
    """All receivers are one host, which rests after five timeouts in a row."""
    from common.redis import rate_limiter

    limits = rate_limiter.calls
    limits._script = _without(limits._script, "math.min(900, 30 * 2 ^ (timeouts - 5))", "0.5")


def _shorten() -> None:
    from bench.faults.workload import WEBHOOK_DEADLINE
    from common.database import postgres
    from jobs.batches import kind as batch_kind
    from notifications.providers.webhook import Webhook
    from work import retry
    from work.broker import wakes
    from work.engine import claim, decision

    claim.LEASE = float(os.environ.get("FAULTS_LEASE", "5"))
    postgres.PATIENCE = claim.LEASE / 2
    wakes.CLAIM_WITHIN = 2.0
    decision.SPREAD = 10.0
    batch_kind.PART, batch_kind.PORTION = 10, claim.LEASE / 3
    Webhook.deadline = WEBHOOK_DEADLINE
    Webhook.policy = retry.Policy(tries=int(os.environ.get("FAULTS_TRIES", "7")), waits=(0.3, 1.0))


def _misbehave() -> None:
    """Make the provider fail on payloads that name a failure."""
    from notifications.messages.message import Delivered, Destination, Message
    from notifications.providers.webhook import Webhook
    from work.answers import Answer
    from work.reasons import Reason

    send = Webhook.send

    def misbehave(self: Webhook, message: Message, destination: Destination) -> Answer:
        if message.subject.startswith("raise"):
            raise RuntimeError("a provider's bug")
        if message.subject.startswith("exit"):
            os._exit(1)
        if message.subject.startswith("memory"):
            _exhaust_memory()
        answer = send(self, message, destination)
        if message.subject.startswith("poison"):
            return Delivered(Reason("accepted", said=float("nan")))  # which jsonb cannot hold
        return answer

    Webhook.send = misbehave  # type: ignore[method-assign]


def _exhaust_memory() -> None:
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    # The machine is shared: the process may take 256 MB more, then the kernel refuses.
    resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, limits[1]))
    hoard: list[bytes] = []
    try:
        while True:
            hoard.append(bytes(2**24))
    finally:
        hoard.clear()
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _publish_fourfold() -> None:
    from work.broker import publisher

    publish = publisher.publish

    def fourfold(app: Any, task: str, calls: Any, *more: Any, **others: Any) -> None:
        publish(app, task, [call for call in calls for _ in range(4)], *more, **others)

    publisher.publish = fourfold


def _cut_connections() -> None:
    """Cut the line to PostgreSQL now and then, before, while or after it commits a claim or a settlement."""
    from common.database import postgres

    execute = postgres.execute

    def cut(line: socket.socket) -> None:
        with line, suppress(OSError):
            line.shutdown(socket.SHUT_RDWR)
        open(f"{os.environ['CARILLON_FAULT_POINTS']}/taken-cut-{os.getpid()}", "w").close()

    def execute_and_cut(statement: str, values: Any, on: BaseDatabaseWrapper | None = None) -> Any:
        database = on or connection
        if database.connection is not None and random.random() < 0.05:
            line = socket.socket(fileno=os.dup(database.connection.fileno()))
            threading.Timer(random.uniform(0.0, 0.01), cut, [line]).start()
        return execute(statement, values, on)

    postgres.execute = execute_and_cut


def _mutate(mutation: str) -> None:
    """Remove one guarantee. The matrix must turn red."""
    from common.uuid7 import uuid7
    from events.intake import ledger
    from notifications.deliveries import pull
    from work.engine import claim, rescue, settlement

    match mutation:
        case "":
            return
        case "no-rescue":
            rescue.rescue.__code__ = (lambda: {}).__code__  # the task has been made of the function
        case "no-fence":
            for name in ("_PLAIN", "_PLAIN_MANY", "_SETTLE", "_SETTLE_MANY"):
                statement = getattr(settlement, name)
                setattr(settlement, name, _without(statement, " AND d.lease_token = new.token", ""))
        case "unconditional-claim":
            for name in ("_CLAIM", "_CLAIM_MANY"):
                statement = getattr(claim, name)
                pending = "AND d.state = 'pending' AND d.available_at <= now()\n"
                setattr(claim, name, _without(statement, pending, "AND d.state IN ('pending', '$working')\n"))
        case "early-wake":
            _wake_before_commit()
        case "no-event-id":
            record = ledger.record
            ledger.record = lambda user_id, envelopes, **options: record(
                user_id, [replace(one, key=str(uuid7())) for one in envelopes], **options
            )
        case "no-lease-id":
            fence = " AND d.lease_token = given.token AND d.lease_until > now()"
            pull._LEASES = _without(_without(pull._LEASES, "d.lease_token AS", "given.token AS"), fence, "")
        case "effect-apart":
            settlement._settle = _settle_and_then_effect
        case "step-again":
            _repeat_steps()
        case "answer-early":
            _answer_pings_early()
        case _:
            raise ValueError(f"There is no mutation called “{mutation}”.")


def _answer_pings_early() -> None:
    """Answer a ping when it comes, and record it a moment later."""
    from config.web import ping_address

    record = ping_address.Pings._recorded

    async def answer(self: ping_address.Pings, ping: Any) -> tuple[int, str]:
        def start() -> None:
            tasks.add(asyncio.ensure_future(record(self, ping)))

        asyncio.get_running_loop().call_later(0.3, start)
        return ping_address.OK

    tasks: set[asyncio.Future[Any]] = set()
    ping_address.Pings._recorded = answer  # type: ignore[method-assign]


def _repeat_steps() -> None:
    """Call the code of each step once more, after its result is committed."""
    from events.kinds import step
    from work.answers import Answer, Done

    def after(self: step.StepKind, claim: step.StepClaim, answer: Answer) -> None:
        if isinstance(answer, Done):
            flow, code = step._find(claim.handler)
            assert flow
            assert code
            step._run(claim, flow, code)

    step.StepKind.after = after  # type: ignore[method-assign]


def _settle_and_then_effect(kind: Any, row: Any, done: Any) -> bool:
    from work.engine import settlement

    settled = settlement.write(kind, [row]) == 1
    if settled and done.effect:
        with transaction.atomic():
            done.effect()
    return settled


def _wake_before_commit() -> None:
    """Hand the rows of a batch to their threads while its transaction is still open."""
    from common.database import postgres
    from work.broker.shared_connection import SharedConnection

    def execute(self: SharedConnection, statement: str, values: Any) -> Any:
        database: Any = self._database or self._open()
        database.ensure_connection()
        database.connection.autocommit = False
        found = postgres.execute(statement, values, database)
        threading.Timer(0.02, database.connection.commit).start()
        return found

    SharedConnection.execute = execute  # type: ignore[method-assign]


def _without(statement: str, part: str, instead: str) -> str:
    if part not in statement:
        raise ValueError("The statement has changed: the mutation no longer bites.")
    return statement.replace(part, instead)
