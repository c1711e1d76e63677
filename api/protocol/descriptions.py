"""Descriptions of properties that mean the same in every schema, by name. A schema's own description goes first."""

import re
from collections.abc import Mapping
from typing import Any

SHARED = {
    "about": "What this kind does, in one or two sentences.",
    "acknowledged_at": "When somebody acknowledged it; null while nobody has.",
    "after_done": "With a step, such as every 3 days: the next run is one step after Done, see the state `awaiting`.",
    "answered_at": "When the source gave this answer, for one that was stored and used again; null if it answered now.",
    "batch_id": "Names all that one run, message or event sent: see `GET /batches/{batch_id}`.",
    "body": "The text of the message.",
    "cause": "Names the group of equal failures, as `GET /dead-letters/causes` lists them.",
    "channel_id": "The id of a channel of yours.",
    "channel_label": "The label of the channel.",
    "correlation_id": "The same through a chain of events and messages: see `GET /trace/{correlation_id}`.",
    "created_at": "When it was created.",
    "deliveries": "One for each channel.",
    "delivery_id": "The id of the delivery.",
    "disabled_at": "When it was disabled; null while it is not.",
    "disabled_reason": "Why it is disabled; empty while it is not.",
    "early": "Minutes before each run at which an early message comes, longest first; whole days keep the time of day.",
    "enabled": "Whether it is switched on. One that is switched off does nothing.",
    "ends_at": "A civil time in `time_zone`, such as `2026-12-24T18:00`: nothing fires after it.",
    "escalate_after": "With `in_order`: minutes without an acknowledgement until the next channel is tried.",
    "failing_started_at": "Since when everything has failed; null while it works.",
    "fields": "The values of its kind's fields, by name, without secrets.",
    "help": "What to enter, for people.",
    "id": "A UUID, which never changes.",
    "in_order": "Try the channels one after the other, in the order given.",
    "items": "The entries of this page.",
    "kind": "The kind of the channel: `GET /channels/kinds` lists those of this installation.",
    "label": "A short name for people.",
    "lengths": "How long the text is on each channel.",
    "max_count": "How often it fires at most; null: without a limit.",
    "nag_channel_ids": "With `nag_every`: ids of channels for the repeats; empty: the same.",
    "nag_every": "Minutes after which it is sent again until it is acknowledged.",
    "nag_times": "With `nag_every`: how often it is sent again at most; 5 if null.",
    "name": "A name for people.",
    "next": "The `cursor` of the following page; null on the last one.",
    "not_taken": "What the check left out, by cause.",
    "notification_id": "The id of the notification, for `GET /notifications/{notification_id}`.",
    "reason": "Why, as a code and as a sentence; empty where nothing needs a reason.",
    "received_at": "When it arrived here.",
    "recorded_at": "When it was recorded.",
    "replays": "How often it was sent again after it had ended.",
    "silent_started_at": "Since when the source has brought nothing; null until that is 30 days.",
    "slot_at": "The instant for which the schedule was due.",
    "source": "What the event comes from, such as `shop`.",
    "starts_at": "A civil time in `time_zone`, such as `2026-12-01T09:00`: nothing fires before it.",
    "text": "A sentence for people, in English.",
    "time_zone": "An IANA name, such as `Europe/Berlin`.",
    "timing": "When it fires: exactly one kind of timing.",
    "title": "The subject of the message: one line.",
    "tries": "How often it was tried, counting from the last replay.",
    "type": "The type of the event: a noun and what happened, such as `order.paid`.",
    "updated_at": "When it was last changed.",
    "urgent": "Also sent during your quiet hours.",
    "verified_at": "When its code was entered; null until then.",
    "version": "Grows with each change, as in `ETag`.",
}

_NOUN = re.compile(r"^(New|Checked)|(Document|Patch|WithAttempts)$")


def describe(schemas: Mapping[str, Any]) -> None:
    """Give each property a description: its own, that of the body which has the same property, or the shared one."""
    for name, schema in schemas.items():
        body = schemas.get(_NOUN.sub("", name) + "Body", {}).get("properties", {})
        for field, shown in schema.get("properties", {}).items():
            result = body.get(field, {}).get("description") or SHARED.get(field)
            if result is not None:
                shown.setdefault("description", result)
