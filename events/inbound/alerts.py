"""The formats in which Alertmanager, Grafana and Uptime Kuma post alerts: one event for each alert. Pure.

Alertmanager: prometheus.io/docs/alerting/latest/configuration, "webhook_config" (version 4). Grafana: the same with
more fields, grafana.com/docs, "Webhook notifier". Uptime Kuma: the heartbeat that has changed, with its monitor; those
that are down or up are alerts.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any


def are_alerts(body: Any) -> bool:
    """Whether a body is of one of these formats: a list of alerts with states and fingerprints, or a heartbeat."""
    if _is_heartbeat(body):
        return True
    alerts = body.get("alerts") if isinstance(body, Mapping) else None
    return (
        isinstance(alerts, list)
        and bool(alerts)
        and all(
            isinstance(one, Mapping)
            and one.get("status") in ("firing", "resolved")
            and isinstance(one.get("fingerprint"), str)
            and isinstance(one.get("labels"), Mapping)
            for one in alerts
        )
    )


def count(body: Mapping[str, Any]) -> int:
    return 1 if _is_heartbeat(body) else len(body["alerts"])


def read(body: Mapping[str, Any], most: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The type of the event, what identifies it, and its data, for each of the first `most` alerts."""
    if _is_heartbeat(body):
        yield _of_heartbeat(body)
        return
    for alert in body["alerts"][:most]:
        labels, annotations = _texts(alert["labels"]), _texts(alert.get("annotations"))
        ended = alert["status"] == "resolved"
        data = {
            "key": alert["fingerprint"],
            "title": labels.get("alertname", alert["fingerprint"]),
            "summary": annotations.get("summary") or annotations.get("description", ""),
            "severity": labels.get("severity", ""),
            "labels": labels,
            "annotations": annotations,
            "url": _text(alert.get("panelURL") or alert.get("generatorURL")),
            # The values of Grafana's queries: "B=44.2 C=1".
            "value": _text(alert.get("valueString"))
            or " ".join(f"{name}={value}" for name, value in _texts(alert.get("values")).items()),
            "starts_at": _text(alert.get("startsAt")),
            "ends_at": _text(alert.get("endsAt")) if ended else "",
        }
        identity = f"{alert['fingerprint']} {alert['status']} {data['starts_at']} {data['ends_at']}"
        yield "alert.resolved" if ended else "alert.raised", identity, data


_DOWN, _UP = 0, 1


def _is_heartbeat(body: Any) -> bool:
    heartbeat, monitor = (body.get("heartbeat"), body.get("monitor")) if isinstance(body, Mapping) else (None, None)
    if not isinstance(heartbeat, Mapping) or not isinstance(monitor, Mapping):
        return False
    return heartbeat.get("status") in (_DOWN, _UP) and isinstance(monitor.get("id"), int | str)


def _of_heartbeat(body: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    heartbeat, monitor = body["heartbeat"], body["monitor"]
    key, ended = f"uptime-kuma-{monitor['id']}", heartbeat["status"] == _UP
    at = _text(heartbeat.get("time"))
    at += "Z" if re.search(r":\d\d(?:\.\d+)?\Z", at) else ""  # it is in UTC, and does not say so
    data = {
        "key": key,
        "title": _text(monitor.get("name")) or key,
        "summary": _text(heartbeat.get("msg")),
        "url": _text(monitor.get("url")),
        "starts_at": "" if ended else at,
        "ends_at": at if ended else "",
    }
    return "alert.resolved" if ended else "alert.raised", f"{key} {heartbeat['status']} {at}", data


def _texts(given: Any) -> dict[str, str]:
    return {str(name): _text(value) for name, value in given.items()} if isinstance(given, Mapping) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
