"""Inputs for a rule, as they are in a body of the API; `test_rules_same_as_form` gives them to the form too.

Channels are named: inbox, hook, unverified, removed, theirs.
"""

from __future__ import annotations

from typing import Any


def where(field: str, operator: str, value: Any = "") -> dict[str, Any]:
    return {"conditions": [{"field": field, "operator": operator, "value": value}]}


TAKEN: list[dict[str, Any]] = [
    {},
    *[{"name": name} for name in ("x", "  padded  ", "n" * 80, "Ümläut ☂ <b>", "{name}")],
    *[{"type_pattern": one} for one in ("*", "order.*", "order.paid", "a.b.c.*", "a-b_c.d9", "x.*", "x." + "y" * 98)],
    *[{"source": source} for source in ("", "shop", "https://example.org/shop", "s" * 200)],
    *[{"title": title} for title in ("T", "x" * 200, "{type} {data.a.b}", "{ not one }", "{}", "{{data.x}}")],
    *[{"body": body} for body in ("", "one\ntwo", "one\r\ntwo", "x" * 10_000, "{data.items.0.name} {id} {time}")],
    *[where("data.amount", operator, 100) for operator in ("equals", "differs", "above", "below", "contains")],
    where("data.a.b.c.d.e.f.g.h", "exists"),
    where("data.note", "exists", "ignored"),
    *[where("data.x", "equals", value) for value in ("", "text", True, None, 1.5, "v" * 500, "1e3", "%d %s")],
    *[where("data.x", "above", value) for value in ("1e3", "-5", ".5", 7)],
    *[where(place, "equals", "x") for place in ("type", "source", "time", "id", "correlation_id")],
    {"conditions": [{"field": f"data.f{number}", "operator": "exists", "value": ""} for number in range(20)]},
    {"channel_ids": ["inbox", "hook"]},
    {"channel_ids": ["hook", "inbox"], "in_order": True},
    {"channel_ids": ["hook", "inbox"], "in_order": True, "escalate_after": 10_080},
    {"urgent": True},
    *[{"throttle_count": count, "throttle_seconds": size} for count, size in ((1, 1), (3, 90), (1_000, 604_800))],
    *[{"digest_seconds": seconds} for seconds in (60, 3_600, 86_400)],
    *[{"digest_at": at} for at in ("00:00", "09:30", "23:59")],
    {"digest_at": "09:30", "digest_count": 2, "digest_key": "data.customer.id"},
    {"digest_seconds": 600, "digest_count": 1_000, "digest_key": "source"},
]

# (the path of the field in the API, what is given)
REFUSED: list[tuple[str, dict[str, Any]]] = [
    *[("name", {"name": name}) for name in ("", "   ", "n" * 81)],
    *[
        ("type_pattern", {"type_pattern": pattern})
        for pattern in ("", "order", "Order.paid", "order.", ".*", "order.*.paid", "order paid", "**", "ö.x")
    ],
    ("type_pattern", {"type_pattern": "x." + "y" * 99}),
    ("type_pattern", {"type_pattern": "order.*\n.x"}),
    ("source", {"source": "s" * 201}),
    *[
        ("title", {"title": title})
        for title in ("", "  ", "x" * 201, "{amount}", "{data.ä}", "{data" + ".x" * 50 + "}")
    ],
    *[("body", {"body": body}) for body in ("x" * 10_001, "{name}", "{data.}", "{data.x.__class__.y!r}")],
    *[
        ("conditions.0.field", where(field, "exists"))
        for field in ("amount", "data", "data.", "data.a b", "data" + ".x" * 50, "hops", "x" * 5_000)
    ],
    *[("conditions.0.operator", where("data.x", operator, 1)) for operator in ("", "is", "EQUALS")],
    *[("conditions.0.value", where("data.x", "above", value)) for value in ("", "lots", "nan", "inf", "1e999", "1_0")],
    ("conditions.0.value", where("data.x", "above", True)),
    ("conditions.0.value", where("data.x", "contains", "")),
    ("conditions.0.value", where("data.x", "equals", "v" * 501)),
    (
        "conditions.1.field",
        {
            "conditions": [
                {"field": "data.x", "operator": "exists", "value": ""},
                {"field": "x y", "operator": "exists", "value": ""},
            ]
        },
    ),
    ("conditions", {"conditions": [{"field": "data.x", "operator": "exists", "value": ""}] * 21}),
    ("conditions", {"conditions": [{"field": "data.x", "operator": "exists", "value": ""}] * 100}),
    *[("channel_ids", {"channel_ids": [name]}) for name in ("unverified", "removed", "theirs")],
    ("channel_ids", {"channel_ids": []}),
    ("channel_ids", {"channel_ids": ["inbox", "nonsense"]}),
    ("in_order", {"in_order": True}),
    ("escalate_after", {"escalate_after": 5}),
    ("escalate_after", {"channel_ids": ["hook", "inbox"], "in_order": True, "escalate_after": 0}),
    ("throttle_seconds", {"throttle_count": 3}),
    ("throttle_count", {"throttle_seconds": 60}),
    *[("throttle_count", {"throttle_count": count, "throttle_seconds": 60}) for count in (0, -1, 1_001)],
    *[("throttle_seconds", {"throttle_count": 1, "throttle_seconds": size}) for size in (0, -1, 604_801)],
    *[("digest_seconds", {"digest_seconds": seconds}) for seconds in (0, 59, 86_401)],
    *[("digest_at", {"digest_at": at}) for at in ("25:00", "nine", "9")],
    ("digest_at", {"digest_seconds": 60, "digest_at": "09:00"}),
    ("digest_count", {"digest_count": 5}),
    ("digest_count", {"digest_count": 1, "digest_seconds": 60}),
    ("digest_key", {"digest_key": "data.customer"}),
    ("digest_key", {"digest_key": "customer", "digest_seconds": 60}),
    ("digest_key", {"digest_key": "data.x" + "y" * 200, "digest_seconds": 60}),
]
