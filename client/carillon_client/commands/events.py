"""Events, their rules, topics, runs and incidents, the trace of a chain, and the feed of changes."""

import argparse
import json
import sys
import time

from carillon_client.client import Client
from carillon_client.commands.output import Declare, add_limit, an_id, escaped, show, show_list
from carillon_client.documents import Change, Event, FlowRun, TypeRoute, TypeRoutes


def declare(command: Declare) -> None:
    publish = command("publish", _publish, "Publish an event, for which your rules fire.")
    publish.add_argument("type", help="such as order.paid")
    publish.add_argument("--data", metavar="JSON", default="{}", help="an object: '{\"order_id\": 7}'")
    publish.add_argument("--source", default="", help="what it comes from")
    publish.add_argument("--id", help="the same id again is the same event")

    events = command("events", _events, "List the latest events and what followed from each, newest first.")
    events.add_argument("--type", help="only those of this type")
    events.add_argument("--dead", action="store_true", help="only dead letters")
    add_limit(events)

    trace = command("trace", _trace, "Show a chain: events, deliveries and tries, with seconds since the first.")
    trace.add_argument("correlation_id", metavar="ID", help="correlation id, by default the id of the first event")

    add_limit(command("topology", _topology, "Show where each type goes: rules and flows, channels, what waits."))
    add_limit(command("rules", _rules, "List the rules, newest first."))
    add_limit(command("topics", _topics, "List your topics, newest first."))

    runs = command("runs", _runs, "List runs of flows, newest first.")
    runs.add_argument("--flow", help="only those of this flow")
    runs.add_argument("--key", help="only those of this key")
    add_limit(runs)
    incidents = command("incidents", _incidents, "List incidents, newest first.")
    incidents.add_argument("--phase", choices=("open", "acknowledged", "resolved"))
    add_limit(incidents)
    for name, done, words in (
        ("acknowledge", "Acknowledged", "Acknowledge an incident, which notifies again if it lasts."),
        ("resolve", "Resolved", "Say that an incident is over."),
    ):
        answer = command(name, _answer, words)
        answer.add_argument("id", type=an_id, help="as `incidents` printed it")
        answer.set_defaults(done=done)

    changes = command("changes", _changes, "Print what changed in the last week, a line each, the oldest first.")
    changes.add_argument("--types", metavar="LIST", default="", help="with commas: “delivery.*,schedule.fired”")
    changes.add_argument("--follow", action="store_true", help="wait for more, until you press Ctrl-C")


def _publish(carillon: Client, options: argparse.Namespace) -> None:
    try:
        data = json.loads(options.data)
    except ValueError as error:
        raise ValueError(f"--data is not JSON: {error}") from None
    event = {"type": options.type, "data": data, "source": options.source, "id": options.id}
    [published] = carillon.events.publish(event)
    show(options, {"id": published}, [f"{published}  published"])


def _events(carillon: Client, options: argparse.Namespace) -> None:
    show_list(
        options,
        carillon.events.list(options.type, state="dead" if options.dead else None),
        lambda one: f"{one['id']}  {one['type']}: {_outcome(one)}",
        "No events.",
    )


def _outcome(event: Event) -> str:
    effects = [f"{one['rule_name']}: {one['reason']['text'] or one['outcome']}" for one in event["effects"]]
    return "; ".join([event["reason"]["text"] or event["state"], *effects])


def _trace(carillon: Client, options: argparse.Namespace) -> None:
    result = carillon.events.trace(options.correlation_id)
    lines = []
    for row in result["items"]:
        to = f" → {', '.join(row['consumers'])}" if row["consumers"] else ""
        why = f" ({row['reason']['text']})" if row["reason"]["text"] else ""
        lines.append(f"{row['seconds']:9.3f} s  {row['queue']}  {row['type']}{to}: {row['state']}{why}")
        lines += [
            f"{one['seconds']:9.3f} s    try {one['number']}: {one['outcome'] or 'under way'}" for one in row["tries"]
        ]
    show(options, result, [*lines, "There are more."] if result["more"] else lines)


def _topology(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.event_types.topology(), _type_routes, "No types.")


def _type_routes(type: TypeRoutes) -> str:
    dead = f" ({type['dead']} dead)" if type["dead"] else ""
    return f"{type['name']}{dead} → {'; '.join(map(_route, type['routes'])) or 'nobody'}"


def _route(route: TypeRoute) -> str:
    if route["channel_id"] is None:
        return f"{route['flow'] or route['rule_name']}"
    oldest = f" since {route['oldest_at']}" if route["oldest_at"] else ""
    pulled_by = f", pulled by {route['pulled_by']}" if route["pulled_by"] else ""
    counts = f"{route['waiting']} waiting{oldest}, {route['dead']} dead{pulled_by}"
    return f"{route['rule_name']} → {route['channel_label']} ({counts})"


def _rules(carillon: Client, options: argparse.Namespace) -> None:
    show_list(
        options,
        carillon.rules.list(),
        lambda one: f"{one['id']}  {one['name']}: {one['type_pattern']}; {'on' if one['enabled'] else 'off'}",
        "No rules.",
    )


def _runs(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.runs.list(flow=options.flow, key=options.key), _run, "No runs.")


def _incidents(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.runs.list(flow="incident", phase=options.phase), _run, "No incidents.")


def _answer(carillon: Client, options: argparse.Namespace) -> None:
    run = (carillon.runs.resolve if options.done == "Resolved" else carillon.runs.acknowledge)(options.id)
    show(options, run, [f"{options.done}: {run['title']}"])


def _run(run: FlowRun) -> str:
    waits = f", waits for {run['waits_for']}" if run["waits_for"] and not run["phase"] else ""
    return f"{run['id']}  {run['flow']}: {run['title']}; {run['phase'] or run['state']}{waits}"


def _topics(carillon: Client, options: argparse.Namespace) -> None:
    show_list(options, carillon.topics.list(), "{slug}  {name}; subscribers: {subscribers}".format_map, "No topics.")


def _changes(carillon: Client, options: argparse.Namespace) -> None:
    types = [one for one in options.types.replace(" ", ",").split(",") if one]
    page = carillon.changes.read(types=types)
    while True:
        for one in page["items"]:
            print(escaped(json.dumps(one, ensure_ascii=False) if options.json else _change(one)))
        sys.stdout.flush()
        if not page["more"]:
            if not options.follow:
                return
            time.sleep(2.0)
        page = carillon.changes.read(page["next"], types=types)


def _change(change: Change) -> str:
    data = ", ".join(f"{name} {value}" for name, value in change["data"].items() if value not in ("", None))
    return f"{change['occurred_at']}  {change['type']}: {data}"
