"""Changes to workers and beats of the harness: shorter waits, faults in a provider, and mutations."""

from __future__ import annotations

import os
from typing import Any

from django.apps import AppConfig


class FaultsConfig(AppConfig):
    name = "bench.faults"
    label = "faults"

    def ready(self) -> None:
        """Applied once per process, before any task runs."""
        _shorten()
        if "misbehaving" in _wished():
            _misbehave()
        if "fourfold" in _wished():
            _publish_fourfold()
        _mutate(os.environ.get("FAULTS_MUTATION", ""))


def _wished() -> list[str]:
    return os.environ.get("FAULTS_WITH", "").split(",")


def _shorten() -> None:
    from common import postgres
    from notifications.providers.webhook import Webhook
    from work import claim, retry, wakes

    claim.LEASE = float(os.environ.get("FAULTS_LEASE", "5"))
    postgres.PATIENCE = claim.LEASE / 2
    wakes.CLAIM_WITHIN = 2.0
    Webhook.deadline = 1.5
    Webhook.policy = retry.Policy(tries=int(os.environ.get("FAULTS_TRIES", "7")), waits=(0.3, 1.0))


def _misbehave() -> None:
    """Make the provider fail on payloads that name a failure."""
    from notifications.message import Destination, Message
    from notifications.providers.webhook import Webhook
    from work.answers import Answer

    send = Webhook.send

    def misbehave(self: Webhook, message: Message, destination: Destination) -> Answer:
        if message.subject.startswith("raise"):
            raise RuntimeError("a provider's bug")
        if message.subject.startswith("exit"):
            os._exit(1)
        if message.subject.startswith("memory"):
            _exhaust_memory()
        return send(self, message, destination)

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
    from work import publisher

    publish = publisher.publish

    def fourfold(app: Any, task: str, calls: Any, queue: str | None = None) -> None:
        publish(app, task, [call for call in calls for _ in range(4)], queue)

    publisher.publish = fourfold


def _mutate(mutation: str) -> None:
    """Remove one guarantee. The matrix must turn red."""
    from work import claim, rescue, settlement

    match mutation:
        case "":
            return
        case "no-rescue":
            rescue.rescue = dict
        case "no-fence":
            settlement._PLAIN = _without(
                settlement._PLAIN, "AND d.lease_token = asked.token\n RETURNING", "\n RETURNING"
            )
        case "unconditional-claim":
            claim._CLAIM = _without(
                claim._CLAIM,
                "AND d.state = 'pending' AND d.available_at <= now()\n",
                "AND d.state IN ('pending', '$working')\n",
            )
        case _:
            raise ValueError(f"There is no mutation called “{mutation}”.")


def _without(statement: str, part: str, instead: str) -> str:
    if part not in statement:
        raise ValueError("The statement has changed: the mutation no longer bites.")
    return statement.replace(part, instead)
