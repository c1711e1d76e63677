"""The client for asyncio: each method of `Client` as a coroutine or an asynchronous iterator.

Written by `script/async_client` from the modules of `Client`.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Self, Unpack, cast
from urllib.parse import quote
from uuid import uuid4

import httpx

from carillon_client.connection import (
    _TRIES,
    LostError,
    Unreachable,
    _may_repeat,
    _pause,
    _read,
    _text,
)
from carillon_client.documents import (
    Accepted,
    Account,
    Acquired,
    AddedAddress,
    AudienceOption,
    Batch,
    BulkResult,
    ChangePage,
    Channel,
    CheckNow,
    ConnectionKind,
    Counter,
    DeadLetterGroup,
    Delivery,
    DeliveryWithAttempts,
    Event,
    EventType,
    EventTypeFields,
    Explanation,
    FlowRun,
    FlowRunWithSteps,
    FlowStep,
    Holiday,
    HolidayFields,
    InboundAddress,
    InboundFields,
    InboundRequest,
    InboxMessage,
    JobKind,
    Lock,
    NewChannel,
    NewInboundAddress,
    NewSecret,
    NewStatusWebhook,
    NewToken,
    Notification,
    NotificationWithAttempts,
    Occurrence,
    OpenTopic,
    Ping,
    Preview,
    QueueMessage,
    QuickDraft,
    Renewed,
    Replayed,
    Rule,
    RuleFields,
    RulePreview,
    Schedule,
    ScheduleFields,
    SentMessage,
    Settings,
    SettingsFields,
    Settled,
    Slot,
    SourceConnection,
    StatusWebhook,
    StatusWebhookFields,
    Subscription,
    TestSent,
    Token,
    Topic,
    TopicEvent,
    TopicFields,
    Total,
    Trace,
    TypeRoutes,
    Watch,
    WatchFields,
)
from carillon_client.schedules import instant


class AsyncConnection:
    """`url` is the server's address; a token is made on its settings page. Not for several threads at once."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, tries: int = _TRIES) -> None:
        if not (token and token.isascii() and token.isprintable()):
            raise ValueError("This is not a token. Copy the whole of it, without line breaks.")
        self.url = url.rstrip("/").removesuffix("/api/v1") + "/api/v1"
        self._tries = tries
        self._http = httpx.AsyncClient(timeout=timeout, headers={"Authorization": f"Bearer {token}"})

    async def close(self) -> None:
        await self._http.aclose()

    async def get(self, path: str, **parameters: Any) -> Any:
        return await self._send("GET", path, parameters=parameters)

    async def pages(self, path: str, **parameters: Any) -> AsyncIterator[Any]:
        """Each item of a list; its pages are read as they are needed."""
        while True:
            page = await self.get(path, **parameters)
            for one in page["items"]:
                yield one
            if page["next"] is None:
                return
            parameters["cursor"] = page["next"]

    async def post(self, path: str, body: Any = None, *, key: str | None = None, **parameters: Any) -> Any:
        """`key` is the `Idempotency-Key`: give your own, if your program may repeat the call after a crash."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        return await self._send("POST", path, body=body, headers=headers, parameters=parameters)

    async def change(self, method: str, path: str, body: Any = None, version: int | str | None = None) -> Any:
        """PUT, PATCH or DELETE, only at this `version` if it is given."""
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        return await self._send(method, path, body=body, headers=headers)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Mapping[str, str] = {},
        parameters: Mapping[str, Any] = {},
    ) -> Any:
        repeatable = "If-Match" not in headers
        lost = False
        for number in range(1, self._tries + 1):
            last = number == self._tries
            wait = 0.25 * 2**number
            try:
                response = await self._try(method, path, body, headers, parameters)
            except LostError:
                if last or not repeatable:
                    raise
                lost = True
            else:
                if lost and method == "DELETE" and (response.status_code == 404):
                    return None
                if last or not _may_repeat(response):
                    return _read(response)
                wait = _pause(response, wait)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _try(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], parameters: Mapping[str, Any]
    ) -> httpx.Response:
        """The answer, whatever it is. Raises Unreachable, and LostError where the request may have arrived."""
        given = {name: _text(value) for name, value in parameters.items() if value is not None}
        try:
            return await self._http.request(method, self.url + path, json=body, headers=headers, params=given)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{self.url} is not an address ({error}).") from error
        except httpx.RequestError as error:
            raise LostError(f"{self.url} does not answer: {error or type(error).__name__}.") from error


class Resource:
    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection


class Changes(Resource):
    """Store `next` of a page with what you have done about it: then you see every change once.

    `occurred_at` may go back from one change to the next, because the feed has the order of commits.
    """

    async def read(self, cursor: str | None = None, *, types: Sequence[str] = (), limit: int = 100) -> ChangePage:
        """The changes behind `cursor`, the oldest first; a problem 410 if it is older than a week."""
        return cast(
            ChangePage,
            await self._connection.get("/changes", cursor=cursor, types=",".join(types) or None, limit=limit),
        )

    async def follow(
        self, cursor: str | None = None, *, types: Sequence[str] = (), pause: float = 5.0
    ) -> AsyncIterator[ChangePage]:
        """Each page that has changes, without an end. Waits `pause` seconds where there is nothing new."""
        while True:
            page = await self.read(cursor, types=types)
            cursor = page["next"]
            if page["items"]:
                yield page
            if not page["more"]:
                await asyncio.sleep(pause)


class StatusWebhooks(Resource):
    def list(self) -> AsyncIterator[StatusWebhook]:
        """Newest first, without their secrets."""
        return self._connection.pages("/status-webhooks")

    async def add(self, *, key: str | None = None, **fields: Unpack[StatusWebhookFields]) -> NewStatusWebhook:
        """A code is posted to it: see `verify`. `secret` is in this answer only."""
        return cast(NewStatusWebhook, await self._connection.post("/status-webhooks", fields, key=key))

    async def read(self, webhook_id: str) -> StatusWebhook:
        return cast(StatusWebhook, await self._connection.get(f"/status-webhooks/{webhook_id}"))

    async def change(self, webhook_id: str, **changes: Any) -> StatusWebhook:
        """`types`, `label`, `url` or `everybody`. A new `url` is verified again."""
        return cast(StatusWebhook, await self._connection.change("PATCH", f"/status-webhooks/{webhook_id}", changes))

    async def verify(self, webhook_id: str, code: str) -> StatusWebhook:
        return await self._act(webhook_id, "verify", {"code": code})

    async def send_code(self, webhook_id: str) -> StatusWebhook:
        """Again; the code before it is not valid any more."""
        return await self._act(webhook_id, "code")

    async def enable(self, webhook_id: str) -> StatusWebhook:
        return await self._act(webhook_id, "enable")

    async def test(self, webhook_id: str) -> str:
        """Post a test to it now. Returns the id of the delivery."""
        return cast(str, (await self._connection.post(f"/status-webhooks/{webhook_id}/test"))["delivery_id"])

    async def remove(self, webhook_id: str) -> None:
        await self._connection.change("DELETE", f"/status-webhooks/{webhook_id}")

    async def _act(self, webhook_id: str, verb: str, body: dict[str, str] | None = None) -> StatusWebhook:
        return cast(StatusWebhook, await self._connection.post(f"/status-webhooks/{webhook_id}/{verb}", body))


class Channels(Resource):
    def list(self, kind: str | None = None) -> AsyncIterator[Channel]:
        """Newest first, without their secrets."""
        return self._connection.pages("/channels", kind=kind)

    async def kinds(self) -> Any:
        """The kinds that there are, each with its fields."""
        return (await self._connection.get("/channels/kinds"))["items"]

    async def add(
        self, kind: str, fields: Mapping[str, str | int], label: str = "", *, key: str | None = None
    ) -> NewChannel:
        """Unless it is yours already, a code is sent to it: see `verify`."""
        body = {"kind": kind, "label": label, "fields": dict(fields)}
        return cast(NewChannel, await self._connection.post("/channels", body, key=key))

    async def read(self, channel_id: str) -> Channel:
        return cast(Channel, await self._connection.get(f"/channels/{channel_id}"))

    async def verify(self, channel_id: str, code: str) -> Channel:
        return cast(Channel, await self._connection.post(f"/channels/{channel_id}/verify", {"code": code}))

    async def send_code(self, channel_id: str) -> None:
        """Again; the code before it is not valid any more."""
        await self._connection.post(f"/channels/{channel_id}/code")

    async def change(self, channel_id: str, **changes: Any) -> NewChannel:
        """`label`, `on_unknown`, `give_up_after` or `fields`. What is not given stays as it is."""
        return cast(NewChannel, await self._connection.change("PATCH", f"/channels/{channel_id}", changes))

    async def enable(self, channel_id: str) -> Channel:
        return cast(Channel, await self._connection.post(f"/channels/{channel_id}/enable"))

    async def replace_secret(self, channel_id: str, *, key: str | None = None) -> NewSecret:
        """Make a new signing secret for a webhook. The one before signs too for a day."""
        return cast(NewSecret, await self._connection.post(f"/channels/{channel_id}/secret", key=key))

    async def test(self, channel_id: str) -> TestSent:
        """Send a message to it now."""
        return cast(TestSent, await self._connection.post(f"/channels/{channel_id}/test"))

    async def remove(self, channel_id: str) -> None:
        await self._connection.change("DELETE", f"/channels/{channel_id}")


class Queues(Resource):
    async def send(self, channel_id: str, *messages: Mapping[str, Any]) -> Sequence[SentMessage]:
        """Send straight to a queue, up to 100: each with a `type`, and `id`, `data`, `correlation_id` and so on."""
        return cast(
            "Sequence[SentMessage]",
            (await self._connection.post(f"/queues/{channel_id}/messages", list(messages)))["items"],
        )

    async def pull(
        self, channel_id: str, *, batch_size: int = 10, visibility: float = 30.0, wait: float = 0.0
    ) -> Sequence[QueueMessage]:
        """The oldest first; nobody else gets them for `visibility` seconds. Waits up to `wait` seconds for some."""
        body = {
            "batch_size": batch_size,
            "visibility_timeout_ms": round(visibility * 1000),
            "wait_ms": round(wait * 1000),
        }
        return cast(
            "Sequence[QueueMessage]", (await self._connection.post(f"/queues/{channel_id}/pull", body))["items"]
        )

    async def ack(
        self, channel_id: str, lease_ids: Sequence[str], retries: Mapping[str, int] | None = None
    ) -> Sequence[Settled]:
        """Acknowledge the leases; those in `retries` come again after so many seconds."""
        body = {
            "acks": [{"lease_id": one} for one in lease_ids],
            "retries": [{"lease_id": one, "delay_seconds": delay} for one, delay in (retries or {}).items()],
        }
        return cast("Sequence[Settled]", (await self._connection.post(f"/queues/{channel_id}/ack", body))["items"])


class Connections(Resource):
    """`version` of a change is the `ETag` that you have read; a newer one is refused with a 412 problem."""

    def list(self, kind: str | None = None) -> AsyncIterator[SourceConnection]:
        """Newest first, without their secrets."""
        return self._connection.pages("/connections", kind=kind)

    async def kinds(self) -> Sequence[ConnectionKind]:
        """The kinds that there are, each with its fields."""
        return cast("Sequence[ConnectionKind]", (await self._connection.get("/connections/kinds"))["items"])

    async def add(
        self, kind: str, fields: Mapping[str, str], label: str = "", *, key: str | None = None
    ) -> SourceConnection:
        """It is `unchecked` until `check`, or until a reminder uses it."""
        body = {"kind": kind, "label": label, "fields": dict(fields)}
        return cast(SourceConnection, await self._connection.post("/connections", body, key=key))

    async def read(self, connection_id: str) -> SourceConnection:
        return cast(SourceConnection, await self._connection.get(f"/connections/{connection_id}"))

    async def change(self, connection_id: str, version: str | None = None, **changes: Any) -> SourceConnection:
        """`label` or `fields`. What is not given stays as it is."""
        return cast(
            SourceConnection, await self._connection.change("PATCH", f"/connections/{connection_id}", changes, version)
        )

    async def check(self, connection_id: str) -> SourceConnection:
        """Ask its source now; `state` and `failing_reason` say what came of it."""
        return cast(SourceConnection, await self._connection.post(f"/connections/{connection_id}/check"))

    async def remove(self, connection_id: str, version: str | None = None) -> None:
        await self._connection.change("DELETE", f"/connections/{connection_id}", version=version)


class Inbound(Resource):
    def list(self) -> AsyncIterator[InboundAddress]:
        """Newest first, without their secrets."""
        return self._connection.pages("/inbound")

    async def create(self, *, key: str | None = None, **fields: Unpack[InboundFields]) -> NewInboundAddress:
        """Its `url` is secret, and in this answer only."""
        return cast(NewInboundAddress, await self._connection.post("/inbound", fields, key=key))

    async def read(self, address_id: str) -> InboundAddress:
        return cast(InboundAddress, await self._connection.get(f"/inbound/{address_id}"))

    async def replace(self, address_id: str, **fields: Unpack[InboundFields]) -> InboundAddress:
        """Fields that are not given get their defaults; its `url` stays, and its secret where none is given."""
        return cast(InboundAddress, await self._connection.change("PUT", f"/inbound/{address_id}", fields))

    async def remove(self, address_id: str) -> None:
        """Its events stay."""
        await self._connection.change("DELETE", f"/inbound/{address_id}")

    async def replace_url(self, address_id: str, *, key: str | None = None) -> NewInboundAddress:
        """Give it a new secret `url`. The old one takes nothing any more."""
        return cast(NewInboundAddress, await self._connection.post(f"/inbound/{address_id}/url", key=key))

    def requests(self, address_id: str) -> AsyncIterator[InboundRequest]:
        """The last ones, newest first, refused ones too."""
        return self._connection.pages(f"/inbound/{address_id}/requests")

    async def replay(self, request_id: str, *, key: str | None = None) -> Sequence[str]:
        """Make new events of a request. Returns their ids."""
        return cast(
            "Sequence[str]", (await self._connection.post(f"/inbound/requests/{request_id}/replay", key=key))["ids"]
        )


class Counters(Resource):
    def list(self) -> AsyncIterator[Counter]:
        """Return all, in the order of their names."""
        return self._connection.pages("/counters")

    async def add(self, name: str, by: int = 1, *, key: str | None = None) -> Counter:
        """Add `by`, once for each `key`: give your own, if your program may repeat the call after a crash."""
        return cast(Counter, await self._connection.post("/counters", {"name": name, "by": by}, key=key))

    async def read(self, name: str) -> Counter:
        return cast(Counter, await self._connection.get(f"/counters/{name}"))

    async def delete(self, name: str) -> None:
        """It begins at 0 again when something is added."""
        await self._connection.change("DELETE", f"/counters/{name}")


class Events(Resource):
    async def publish(self, *events: Mapping[str, Any], key: str | None = None) -> Sequence[str]:
        """Up to 100, each with its `type`, and `id`, `source`, `occurred_at`, `data`, `delay` as wanted.

        Returns their ids.
        """
        return [one["id"] for one in (await self._connection.post("/events", list(events), key=key))["items"]]

    def list(self, type: str | None = None, *, state: str | None = None) -> AsyncIterator[Event]:
        """Newest first, with what followed from each. `state` "dead": only dead letters."""
        return self._connection.pages("/events", type=type, state=state)

    async def read(self, event_id: str) -> Event:
        return cast(Event, await self._connection.get(f"/events/{quote(event_id, safe='')}"))

    async def replay(self, event_id: str) -> str:
        """Handle it again. Returns the id of the new event; a dead event keeps its id, and is handled itself."""
        return cast(str, (await self._connection.post(f"/events/{quote(event_id, safe='')}/replay"))["ids"][0])

    async def discard(self, event_id: str, reason: str) -> Event:
        """Have a dead event handled no more."""
        return cast(
            Event, await self._connection.post(f"/events/{quote(event_id, safe='')}/discard", {"reason": reason})
        )

    async def trace(self, correlation_id: str) -> Trace:
        """The whole chain: events and deliveries with their tries, oldest first."""
        return cast(Trace, await self._connection.get(f"/trace/{quote(correlation_id, safe='')}"))


class EventTypes(Resource):
    """Data of your events that does not fit its type's JSON Schema is refused, or handled with a warning."""

    def list(self) -> AsyncIterator[EventType]:
        """Yours and those for everybody, newest first."""
        return self._connection.pages("/event-types")

    def topology(self) -> AsyncIterator[TypeRoutes]:
        """Where each type goes: rules and flows, their channels and queues, what waits and is dead, and who pulls."""
        return self._connection.pages("/event-types/topology")

    async def create(self, name: str, *, key: str | None = None, **fields: Unpack[EventTypeFields]) -> EventType:
        return cast(EventType, await self._connection.post("/event-types", {"name": name, **fields}, key=key))

    async def read(self, event_type_id: str) -> EventType:
        return cast(EventType, await self._connection.get(f"/event-types/{event_type_id}"))

    async def change(
        self, event_type_id: str, version: int | None = None, **fields: Unpack[EventTypeFields]
    ) -> EventType:
        """Fields that are not given stay as they are."""
        return cast(EventType, await self._connection.change("PATCH", f"/event-types/{event_type_id}", fields, version))

    async def delete(self, event_type_id: str, version: int | None = None) -> None:
        await self._connection.change("DELETE", f"/event-types/{event_type_id}", version=version)


class Rules(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(self) -> AsyncIterator[Rule]:
        """Newest first."""
        return self._connection.pages("/rules")

    async def create(self, *, key: str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """`key` is the Idempotency-Key: the same call with the same key makes one rule."""
        return cast(Rule, await self._connection.post("/rules", fields, key=key))

    async def preview(
        self, *, event_id: str | None = None, event: Mapping[str, Any] | None = None, **fields: Unpack[RuleFields]
    ) -> RulePreview:
        """Return what it would make of a past event, or of a given one. Nothing is saved or sent."""
        body = {"rule": fields, "event_id": event_id, "event": event}
        return cast(RulePreview, await self._connection.post("/rules/preview", body))

    async def read(self, rule_id: str) -> Rule:
        return cast(Rule, await self._connection.get(f"/rules/{rule_id}"))

    async def replace(self, rule_id: str, version: int | str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """Fields that are not given get their defaults."""
        return cast(Rule, await self._connection.change("PUT", f"/rules/{rule_id}", fields, version))

    async def change(self, rule_id: str, version: int | str | None = None, **fields: Unpack[RuleFields]) -> Rule:
        """Fields that are not given stay as they are."""
        return cast(Rule, await self._connection.change("PATCH", f"/rules/{rule_id}", fields, version))

    async def delete(self, rule_id: str, version: int | str | None = None) -> None:
        await self._connection.change("DELETE", f"/rules/{rule_id}", version=version)

    async def restore(self, rule_id: str) -> Rule:
        return await self._act(rule_id, "restore")

    async def enable(self, rule_id: str) -> Rule:
        return await self._act(rule_id, "enable")

    async def disable(self, rule_id: str) -> Rule:
        """Deliveries that it caused and that are not sent yet are cancelled."""
        return await self._act(rule_id, "disable")

    async def _act(self, rule_id: str, verb: str) -> Rule:
        return cast(Rule, await self._connection.post(f"/rules/{rule_id}/{verb}"))


class Runs(Resource):
    """Runs of flows. An incident is one of the flow `incident`."""

    def list(
        self, *, flow: str | None = None, key: str | None = None, state: str | None = None, phase: str | None = None
    ) -> AsyncIterator[FlowRun]:
        """Newest first; `phase` is that of an incident."""
        return self._connection.pages("/runs", flow=flow, key=key, state=state, phase=phase)

    async def read(self, run_id: str) -> FlowRunWithSteps:
        """With what it remembers, its steps and its events."""
        return cast(FlowRunWithSteps, await self._connection.get(f"/runs/{run_id}"))

    async def end(self, run_id: str, reason: str = "") -> FlowRun:
        """Cancel its open steps. What was sent stays."""
        return cast(FlowRun, await self._connection.post(f"/runs/{run_id}/end", {"reason": reason}))

    async def acknowledge(self, run_id: str) -> FlowRun:
        """Acknowledge an incident. It rings again if it lasts."""
        return cast(FlowRun, await self._connection.post(f"/runs/{run_id}/acknowledge"))

    async def resolve(self, run_id: str) -> FlowRun:
        """An incident is over."""
        return cast(FlowRun, await self._connection.post(f"/runs/{run_id}/resolve"))

    async def retry_step(self, run_id: str, step_id: str) -> FlowStep:
        """Run a failed step again, under the same idempotency key."""
        return cast(FlowStep, await self._connection.post(f"/runs/{run_id}/steps/{step_id}/retry"))

    async def skip_step(self, run_id: str, step_id: str, reason: str = "") -> FlowStep:
        """Have the run go on as if a failed step were done with an empty result."""
        return cast(FlowStep, await self._connection.post(f"/runs/{run_id}/steps/{step_id}/skip", {"reason": reason}))


class Locks(Resource):
    def list(self) -> AsyncIterator[Lock]:
        """Return those that somebody holds."""
        return self._connection.pages("/locks")

    async def acquire(self, name: str, *, ttl: int = 30, holder: str = "") -> Acquired:
        """Yours for `ttl` seconds, counted from before the call; where somebody has it, `acquired` is false."""
        return cast(
            Acquired, await self._connection.post("/locks/acquire", {"name": name, "ttl": ttl, "holder": holder})
        )

    async def renew(self, name: str, token: str, *, ttl: int = 30) -> Renewed:
        """For `ttl` seconds from before the call. Raises Problem where it is not yours any more."""
        return cast(Renewed, await self._connection.post("/locks/renew", {"name": name, "token": token, "ttl": ttl}))

    async def release(self, name: str, token: str) -> None:
        """Let others take it. Raises Problem where it is not yours any more."""
        await self._connection.post("/locks/release", {"name": name, "token": token})


class Notifications(Resource):
    async def send(
        self,
        title: str,
        channel_ids: Sequence[str],
        *,
        body: str = "",
        send_at: datetime | None = None,
        urgent: bool = False,
        category: str = "",
        data: dict[str, Any] | None = None,
        key: str | None = None,
    ) -> Accepted:
        """`key` is the Idempotency-Key: the same call with the same key sends once."""
        message: dict[str, Any] = {"title": title, "body": body, "channel_ids": list(channel_ids), "urgent": urgent}
        message |= {"category": category, "data": data, "send_at": instant(send_at) if send_at else None}
        return cast(Accepted, await self._connection.post("/notifications", message, key=key))

    def list(
        self,
        *,
        outcome: str | None = None,
        since: datetime | None = None,
        schedule_id: str | None = None,
        origin: str | None = None,
        search: str | None = None,
    ) -> AsyncIterator[Notification]:
        """Newest first. What is sent to status webhooks only with `origin="status"`."""
        requested = {"outcome": outcome, "since": instant(since) if since else None, "schedule_id": schedule_id}
        return self._connection.pages("/notifications", **requested, origin=origin, search=search)

    async def read(self, notification_id: str) -> NotificationWithAttempts:
        """With each delivery and each attempt."""
        return cast(NotificationWithAttempts, await self._connection.get(f"/notifications/{notification_id}"))

    async def cancel(self, notification_id: str) -> Notification:
        """Cancel what has not gone out."""
        return cast(Notification, await self._connection.post(f"/notifications/{notification_id}/cancel"))

    async def acknowledge(self, notification_id: str) -> NotificationWithAttempts:
        """No other channel is tried. Of a reminder or a rule."""
        return cast(
            NotificationWithAttempts, await self._connection.post(f"/notifications/{notification_id}/acknowledge")
        )

    async def snooze(self, notification_id: str, ends_at: datetime) -> NotificationWithAttempts:
        """As `acknowledge`, and the same is sent again at that time."""
        body = {"snooze_ends_at": instant(ends_at)}
        return cast(
            NotificationWithAttempts, await self._connection.post(f"/notifications/{notification_id}/snooze", body)
        )

    async def stop_announcements(self, notification_id: str) -> None:
        """Of which this is one."""
        await self._connection.post(f"/notifications/{notification_id}/stop-announcements")

    async def resume_announcements(self, notification_id: str) -> None:
        """From the next one on."""
        await self._connection.post(f"/notifications/{notification_id}/resume-announcements")


class Batches(Resource):
    """All that one cause sent: to you, or by you to an audience."""

    async def read(self, batch_id: str) -> Batch:
        return cast(Batch, await self._connection.get(f"/batches/{batch_id}"))

    def list(self, *, origin_id: str | None = None) -> AsyncIterator[Batch]:
        """Those for audiences that you have caused, newest first; with `origin_id`, of this schedule or topic."""
        return self._connection.pages("/batches", origin_id=origin_id)

    def audiences(self) -> AsyncIterator[AudienceOption]:
        """Whom you may tell. For staff."""
        return self._connection.pages("/audiences")

    async def replay(self, batch_id: str) -> int:
        """Replay what failed of a batch for an audience, oldest first. Returns how many."""
        return cast(int, (await self._connection.post(f"/batches/{batch_id}/replay"))["replayed"])

    async def cancel(self, batch_id: str) -> Batch:
        return cast(Batch, await self._connection.post(f"/batches/{batch_id}/cancel"))


class DeadLetters(Resource):
    """Deliveries that failed for good, or whose outcome is unknown."""

    def list(self, *, cause: str | None = None, channel_id: str | None = None) -> AsyncIterator[Delivery]:
        """Newest first."""
        return self._connection.pages("/dead-letters", cause=cause, channel_id=channel_id)

    async def read(self, delivery_id: str) -> DeliveryWithAttempts:
        """Also when it is not a dead letter any more."""
        return cast(DeliveryWithAttempts, await self._connection.get(f"/dead-letters/{delivery_id}"))

    async def causes(self) -> Sequence[DeadLetterGroup]:
        """The number of dead letters of each cause on each channel."""
        return cast("Sequence[DeadLetterGroup]", (await self._connection.get("/dead-letters/causes"))["items"])

    async def replay_all(
        self, *, cause: str | None = None, channel_id: str | None = None, per_minute: int = 60, key: str | None = None
    ) -> Replayed:
        """All of a cause, of a channel, or both: oldest first, so many a minute."""
        body = {"cause": cause, "channel_id": channel_id, "per_minute": per_minute}
        return cast(Replayed, await self._connection.post("/dead-letters/replay", body, key=key))

    async def replay(self, delivery_id: str) -> Delivery:
        """Now, under the same idempotency key. One that is `unknown` may arrive twice."""
        return await self._act(delivery_id, "replay")

    async def send_as_new(self, delivery_id: str) -> Delivery:
        """Under a new idempotency key, for a receiver that ignores the old one."""
        return await self._act(delivery_id, "replay-as-new")

    async def discard(self, delivery_id: str, reason: str) -> Delivery:
        return await self._act(delivery_id, "discard", {"reason": reason})

    async def mark_fixed(self, delivery_id: str, note: str) -> Delivery:
        """It was dealt with otherwise."""
        return await self._act(delivery_id, "fixed", {"note": note})

    async def _act(self, delivery_id: str, verb: str, body: dict[str, str] | None = None) -> Delivery:
        return cast(Delivery, await self._connection.post(f"/dead-letters/{delivery_id}/{verb}", body))


class Inbox(Resource):
    def list(
        self, *, unread: bool | None = None, archived: bool = False, search: str | None = None
    ) -> AsyncIterator[InboxMessage]:
        """By arrival, newest first; `archived`: those that were taken out of the list."""
        return self._connection.pages("/inbox", unread=unread, archived=archived or None, search=search)

    async def read(self, message_id: str) -> InboxMessage:
        """Does not mark it as read."""
        return cast(InboxMessage, await self._connection.get(f"/inbox/{message_id}"))

    async def mark_read(self, message_id: str) -> InboxMessage:
        return cast(InboxMessage, await self._connection.post(f"/inbox/{message_id}/read"))

    async def archive(self, message_id: str) -> InboxMessage:
        """Take it out of the list, as read."""
        return cast(InboxMessage, await self._connection.post(f"/inbox/{message_id}/archive"))

    async def unarchive(self, message_id: str) -> InboxMessage:
        return cast(InboxMessage, await self._connection.post(f"/inbox/{message_id}/unarchive"))

    async def mark_all_read(self) -> int:
        """Return how many were unread."""
        return cast(int, (await self._connection.post("/inbox/read"))["count"])


class Schedules(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(
        self,
        *,
        state: str | None = None,
        category: str | None = None,
        tag: str | None = None,
        search: str | None = None,
        due_before: datetime | None = None,
    ) -> AsyncIterator[Schedule]:
        """Newest first; those that are archived only with that `state`."""
        due = instant(due_before) if due_before else None
        result = {"state": state, "category": category, "tag": tag, "search": search, "due_before": due}
        return self._connection.pages("/schedules", **result)

    async def create(self, *, key: str | None = None, **fields: Unpack[ScheduleFields]) -> Schedule:
        """`key` is the Idempotency-Key: the same call with the same key makes one schedule."""
        return cast(Schedule, await self._connection.post("/schedules", fields, key=key))

    async def preview(self, count: int = 10, **fields: Unpack[ScheduleFields]) -> Preview:
        """When it would fire, and with which text. Nothing is saved."""
        return cast(Preview, await self._connection.post("/schedules/preview", fields, count=count))

    async def quick_add(self, text: str, time_zone: str | None = None) -> QuickDraft:
        """The meaning of a line, such as “water the plants every Sunday 18:00”. Nothing is saved: see `create`."""
        return cast(
            QuickDraft, await self._connection.post("/schedules/quick-add", {"text": text, "time_zone": time_zone})
        )

    async def read(self, schedule_id: str) -> Schedule:
        return cast(Schedule, await self._connection.get(f"/schedules/{schedule_id}"))

    async def replace(
        self, schedule_id: str, version: int | str | None = None, **fields: Unpack[ScheduleFields]
    ) -> Schedule:
        """Fields that are not given get their defaults."""
        return cast(Schedule, await self._connection.change("PUT", f"/schedules/{schedule_id}", fields, version))

    async def change(
        self, schedule_id: str, version: int | str | None = None, **fields: Unpack[ScheduleFields]
    ) -> Schedule:
        """Fields that are not given stay as they are."""
        return cast(Schedule, await self._connection.change("PATCH", f"/schedules/{schedule_id}", fields, version))

    async def delete(self, schedule_id: str, version: int | str | None = None) -> None:
        await self._connection.change("DELETE", f"/schedules/{schedule_id}", version=version)

    async def restore(self, schedule_id: str) -> Schedule:
        return await self._act(schedule_id, "restore")

    async def pause(self, schedule_id: str) -> Schedule:
        return await self._act(schedule_id, "pause")

    async def resume(self, schedule_id: str) -> Schedule:
        return await self._act(schedule_id, "resume")

    async def archive(self, schedule_id: str) -> Schedule:
        return await self._act(schedule_id, "archive")

    async def unarchive(self, schedule_id: str) -> Schedule:
        return await self._act(schedule_id, "unarchive")

    async def snooze(self, schedule_id: str, until: datetime) -> Schedule:
        return await self._act(schedule_id, "snooze", snooze_ends_at=instant(until))

    async def skip(self, schedule_id: str, slot_at: str) -> Schedule:
        """`slot_at` is the `next_run_at` that you have read."""
        return await self._act(schedule_id, "skip", slot_at=slot_at)

    async def unskip(self, schedule_id: str, slot_at: str) -> Schedule:
        return await self._act(schedule_id, "unskip", slot_at=slot_at)

    async def run(self, schedule_id: str, *, key: str | None = None) -> Occurrence:
        """Send once, now."""
        return cast(Occurrence, await self._connection.post(f"/schedules/{schedule_id}/run", key=key))

    async def upcoming(self, schedule_id: str, count: int = 10) -> Sequence[Slot]:
        return cast(
            Sequence[Slot], (await self._connection.get(f"/schedules/{schedule_id}/upcoming", count=count))["items"]
        )

    def occurrences(self, schedule_id: str) -> AsyncIterator[Occurrence]:
        """The latest slot first."""
        return self._connection.pages(f"/schedules/{schedule_id}/occurrences")

    def explain(self, schedule_id: str) -> AsyncIterator[Slot]:
        """The outcome of each slot and its reason, newest first."""
        return self._connection.pages(f"/schedules/{schedule_id}/explain")

    async def explanation(self, schedule_id: str) -> Explanation:
        """The first page of `explain`, with the slots that are `coming`."""
        return cast(Explanation, await self._connection.get(f"/schedules/{schedule_id}/explain"))

    async def bulk(
        self, schedule_ids: Sequence[str], action: str, tag: str = "", *, key: str | None = None
    ) -> BulkResult:
        """`pause`, `resume`, `tag`, `untag`, `archive`, `unarchive` or `delete` up to 5,000 at once."""
        body = {"ids": list(schedule_ids), "action": action, "tag": tag}
        return cast(BulkResult, await self._connection.post("/schedules/bulk", body, key=key))

    async def check(self, schedule_id: str) -> CheckNow:
        """Return what its job finds now. Sends nothing. Where `outcome` is `checking`, see `read_check`."""
        return cast(CheckNow, await self._connection.post(f"/schedules/{schedule_id}/check"))

    async def check_job(self, job: Mapping[str, Any], title: str = "", body: str = "") -> CheckNow:
        """Return what a job would find that no schedule has yet."""
        given = {"job": dict(job), "title": title, "body": body}
        return cast(CheckNow, await self._connection.post("/schedules/check", given))

    async def read_check(self, check_id: str) -> CheckNow:
        return cast(CheckNow, await self._connection.get(f"/checks/{check_id}"))

    async def _act(self, schedule_id: str, verb: str, **body: str) -> Schedule:
        return cast(Schedule, await self._connection.post(f"/schedules/{schedule_id}/{verb}", body or None))


class JobKinds(Resource):
    def list(self) -> AsyncIterator[JobKind]:
        """The kinds of check that a schedule can make before it speaks, each with the fields of its payload."""
        return self._connection.pages("/job-kinds")


class Holidays(Resource):
    """Times in which schedules send nothing."""

    def list(self) -> AsyncIterator[Holiday]:
        """Newest first."""
        return self._connection.pages("/holidays")

    async def create(self, *, key: str | None = None, **fields: Unpack[HolidayFields]) -> Holiday:
        return cast(Holiday, await self._connection.post("/holidays", fields, key=key))

    async def read(self, holiday_id: str) -> Holiday:
        return cast(Holiday, await self._connection.get(f"/holidays/{holiday_id}"))

    async def replace(self, holiday_id: str, **fields: Unpack[HolidayFields]) -> Holiday:
        return cast(Holiday, await self._connection.change("PUT", f"/holidays/{holiday_id}", fields))

    async def end(self, holiday_id: str) -> Holiday:
        """Before its last day. Schedules fire again from now on."""
        return cast(Holiday, await self._connection.post(f"/holidays/{holiday_id}/end"))

    async def delete(self, holiday_id: str) -> None:
        """Schedules fire again from now on."""
        await self._connection.change("DELETE", f"/holidays/{holiday_id}")


class Tokens(Resource):
    def list(self) -> AsyncIterator[Token]:
        """Those that are not revoked, newest first."""
        return self._connection.pages("/me/tokens")

    async def read(self, token_id: str) -> Token:
        return cast(Token, await self._connection.get(f"/me/tokens/{token_id}"))

    async def create(
        self, label: str, scopes: Sequence[str], *, expires_at: datetime | None = None, key: str | None = None
    ) -> NewToken:
        """With rights of this token, and until its end at most. The secret is in `token`, and nowhere else."""
        body = {"label": label, "scopes": list(scopes), "expires_at": instant(expires_at) if expires_at else None}
        return cast(NewToken, await self._connection.post("/me/tokens", body, key=key))

    async def rotate(self, token_id: str, *, key: str | None = None) -> NewToken:
        """Replace the secret of one that this token has made. The one before is refused at once."""
        return cast(NewToken, await self._connection.post(f"/me/tokens/{token_id}/rotate", key=key))

    async def revoke(self, token_id: str) -> None:
        """For good, with those that it has made."""
        await self._connection.change("DELETE", f"/me/tokens/{token_id}")


class Topics(Resource):
    """An event that names a topic's `slug` as its `topic` goes to everybody who is subscribed."""

    def list(self) -> AsyncIterator[Topic]:
        """Yours, newest first."""
        return self._connection.pages("/topics")

    async def create(self, slug: str, *, key: str | None = None, **fields: Unpack[TopicFields]) -> Topic:
        return cast(Topic, await self._connection.post("/topics", {"slug": slug, **fields}, key=key))

    async def read(self, slug: str) -> Topic:
        return cast(Topic, await self._connection.get(f"/topics/{slug}"))

    async def change(self, slug: str, version: int | None = None, **fields: Unpack[TopicFields]) -> Topic:
        """Fields that are not given stay as they are."""
        return cast(Topic, await self._connection.change("PATCH", f"/topics/{slug}", fields, version))

    async def delete(self, slug: str, version: int | None = None) -> None:
        """With its subscriptions."""
        await self._connection.change("DELETE", f"/topics/{slug}", version=version)

    def events(self, slug: str) -> AsyncIterator[TopicEvent]:
        """Newest first, with how far each has come."""
        return self._connection.pages(f"/topics/{slug}/events")

    def added(self, slug: str) -> AsyncIterator[AddedAddress]:
        """Return the people that you have added."""
        return self._connection.pages(f"/topics/{slug}/subscriptions")

    async def add(self, slug: str, address: str, *, key: str | None = None) -> AddedAddress:
        """Subscribe the account with this email address, if there is one."""
        return cast(
            AddedAddress, await self._connection.post(f"/topics/{slug}/subscriptions", {"address": address}, key=key)
        )

    async def remove(self, slug: str, subscription_id: str) -> None:
        await self._connection.change("DELETE", f"/topics/{slug}/subscriptions/{subscription_id}")


class Subscriptions(Resource):
    def list(self) -> AsyncIterator[Subscription]:
        """Newest first."""
        return self._connection.pages("/subscriptions")

    def topics(self) -> AsyncIterator[OpenTopic]:
        """Return the topics that you can subscribe to."""
        return self._connection.pages("/subscriptions/topics")

    async def subscribe(self, topic_id: str, channel_ids: Sequence[str] = ()) -> Subscription:
        """Or choose other channels; none means all that work."""
        body = {"channel_ids": [*channel_ids]}
        return cast(Subscription, await self._connection.change("PUT", f"/subscriptions/{topic_id}", body))

    async def leave(self, topic_id: str) -> None:
        await self._connection.change("DELETE", f"/subscriptions/{topic_id}")


class Watches(Resource):
    """`version` of a change is that of the document that you have read; a newer one is refused with a 412 problem."""

    def list(self, *, state: str | None = None, tag: str | None = None) -> AsyncIterator[Watch]:
        """Newest first."""
        return self._connection.pages("/watches", state=state, tag=tag)

    async def create(self, *, key: str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """`key` is the Idempotency-Key: the same call with the same key makes one watch."""
        return cast(Watch, await self._connection.post("/watches", fields, key=key))

    async def read(self, watch_id: str) -> Watch:
        return cast(Watch, await self._connection.get(f"/watches/{watch_id}"))

    def pings(self, watch_id: str) -> AsyncIterator[Ping]:
        """The last 100, newest first, with their output."""
        return self._connection.pages(f"/watches/{watch_id}/pings")

    async def replace(self, watch_id: str, version: int | str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """Fields that are not given get their defaults."""
        return cast(Watch, await self._connection.change("PUT", f"/watches/{watch_id}", fields, version))

    async def change(self, watch_id: str, version: int | str | None = None, **fields: Unpack[WatchFields]) -> Watch:
        """Fields that are not given stay as they are."""
        return cast(Watch, await self._connection.change("PATCH", f"/watches/{watch_id}", fields, version))

    async def delete(self, watch_id: str, version: int | str | None = None) -> None:
        await self._connection.change("DELETE", f"/watches/{watch_id}", version=version)

    async def restore(self, watch_id: str) -> Watch:
        return cast(Watch, await self._connection.post(f"/watches/{watch_id}/restore"))

    async def pause(self, watch_id: str, *, until_ping: bool = False) -> Watch:
        """Until `resume`, or until its next ping."""
        return cast(Watch, await self._connection.post(f"/watches/{watch_id}/pause", {"until_ping": until_ping}))

    async def resume(self, watch_id: str) -> Watch:
        return cast(Watch, await self._connection.post(f"/watches/{watch_id}/resume"))


class AsyncClient:
    """`url` is the server's address, `token` one of your settings page. Use it in one thread, and `close` it."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, tries: int = 5) -> None:
        self.connection = AsyncConnection(url, token, timeout=timeout, tries=tries)
        self.schedules = Schedules(self.connection)
        self.holidays = Holidays(self.connection)
        self.channels = Channels(self.connection)
        self.notifications = Notifications(self.connection)
        self.inbox = Inbox(self.connection)
        self.tokens = Tokens(self.connection)
        self.events = Events(self.connection)
        self.event_types = EventTypes(self.connection)
        self.rules = Rules(self.connection)
        self.runs = Runs(self.connection)
        self.batches = Batches(self.connection)
        self.dead_letters = DeadLetters(self.connection)
        self.topics = Topics(self.connection)
        self.subscriptions = Subscriptions(self.connection)
        self.queues = Queues(self.connection)
        self.locks = Locks(self.connection)
        self.counters = Counters(self.connection)
        self.watches = Watches(self.connection)
        self.inbound = Inbound(self.connection)
        self.connections = Connections(self.connection)
        self.job_kinds = JobKinds(self.connection)
        self.changes = Changes(self.connection)
        self.status_webhooks = StatusWebhooks(self.connection)

    async def me(self) -> Account:
        """Return the token's account, and what it may do."""
        return cast(Account, await self.connection.get("/me"))

    def totals(self, span: str = "lifetime") -> AsyncIterator[Total]:
        """Return what was sent, delivered and dead by kind and provider; `span`: minute, day or lifetime."""
        return self.connection.pages("/me/totals", span=span)

    async def settings(self) -> Settings:
        """Return your name, language, time zone and quiet hours."""
        return cast(Settings, await self.connection.get("/me/settings"))

    async def change_settings(self, **fields: Unpack[SettingsFields]) -> Settings:
        """Fields that are not given stay as they are."""
        return cast(Settings, await self.connection.change("PATCH", "/me/settings", fields))

    async def close(self) -> None:
        await self.connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
