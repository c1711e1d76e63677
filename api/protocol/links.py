"""Links of the OpenAPI document: which operations take an id that an answer has."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BODY, _FIRST = "$response.body#/", "$response.body#/items/0/"


# By operation, what no address says: operations that take values of its answer, as these parameters, and in this body.
_MORE: dict[str, list[tuple[Any, ...]]] = {
    "delete_schedule": [("restore_schedule", {"schedule_id": "$request.path.schedule_id"})],
    "delete_rule": [("restore_rule", {"rule_id": "$request.path.rule_id"})],
    "delete_watch": [("restore_watch", {"watch_id": "$request.path.watch_id"})],
    "create_schedule": [("skip_slot", {"schedule_id": f"{_BODY}id"}, {"slot_at": f"{_BODY}next_run_at"})],
    "run_schedule": [
        ("read_batch", {"batch_id": f"{_BODY}batch_id"}),
        ("read_trace", {"correlation_id": f"{_BODY}batch_id"}),
    ],
    "check_job": [("get_check", {"check_id": f"{_BODY}id"})],
    "check_schedule": [("get_check", {"check_id": f"{_BODY}id"})],
    "test_channel": [("read_notification", {"notification_id": f"{_BODY}notification_id"})],
    "send_message": [(name, {"batch_id": f"{_BODY}batch_id"}) for name in ("read_batch", "cancel_batch")],
    "publish": [(name, {"event_id": f"{_FIRST}id"}) for name in ("read_event", "replay_event")],
    "list_events": [("read_trace", {"correlation_id": f"{_FIRST}correlation_id"})],
    "read_event": [("read_trace", {"correlation_id": f"{_BODY}correlation_id"})],
    "list_runs": [("read_trace", {"correlation_id": f"{_FIRST}correlation_id"})],
    "read_run": [
        (name, {"run_id": "$request.path.run_id", "step_id": f"{_BODY}steps/0/id"})
        for name in ("retry_step", "skip_step")
    ],
    "list_inbound_requests": [("replay_inbound_request", {"inbound_request_id": f"{_FIRST}id"})],
    "list_open_topics": [(name, {"topic_id": f"{_FIRST}id"}) for name in ("subscribe", "unsubscribe")],
    "list_subscriptions": [(name, {"topic_id": f"{_FIRST}topic/id"}) for name in ("subscribe", "unsubscribe")],
    "add_channel": [(name, {"queue_id": f"{_BODY}id"}) for name in ("pull_messages", "publish_messages")]
    + [(name, {"board_id": f"{_BODY}id"}) for name in ("list_board_messages", "write_on_board")],
    "list_channels": [("pull_messages", {"queue_id": f"{_FIRST}id"})],
    "pull_messages": [
        ("settle_messages", {"queue_id": "$request.path.queue_id"}, {"acks": [{"lease_id": f"{_FIRST}lease_id"}]})
    ],
}


def add(paths: Mapping[str, Any]) -> None:
    """To each answer with an id, or with a list of them, the operations on one."""
    for template, methods in paths.items():
        for operation in methods.values():
            links = {link["operationId"]: link for link in _links(paths, template, operation)}
            for status, response in operation["responses"].items():
                if links and str(status).startswith("2"):
                    response["links"] = links


def _links(paths: Mapping[str, Any], template: str, operation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    name = operation["operationId"]
    if name.startswith(("list_", "create_", "add_", "send_message")):
        place = _FIRST if name.startswith("list_") else _BODY
        within = {one: f"$request.path.{one}" for one in re.findall(r"\{(\w+)\}", template)}
        for other, methods in paths.items():
            if match := re.fullmatch(rf"{re.escape(template)}/\{{(\w+)\}}[^{{]*", other):
                value = place + (match[1] if match[1] in ("slug", "name") else "id")
                for one in methods.values():
                    if not one["operationId"].startswith("restore_"):
                        yield _link(one["operationId"], within | {match[1]: value})
    yield from (_link(*link) for link in _MORE.get(name, ()))


def _link(name: str, parameters: Mapping[str, str], body: Any = None) -> dict[str, Any]:
    return {"operationId": name, "parameters": parameters} | ({} if body is None else {"requestBody": body})
