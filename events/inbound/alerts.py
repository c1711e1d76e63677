"""The format in which Alertmanager and Grafana post alerts: one event for each alert. Pure.

Alertmanager: prometheus.io/docs/alerting/latest/configuration, "webhook_config" (version 4). Grafana: the same with
more fields, grafana.com/docs, "Webhook notifier".
"""

from collections.abc import Iterator, Mapping
from typing import Any


def are_alerts(body: Any) -> bool:
    """Whether a body is of this format: a list of alerts, each with its state and its fingerprint."""
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


def read(body: Mapping[str, Any], most: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The type of the event, what identifies it, and its data, for each of the first `most` alerts."""
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
            "value": _text(alert.get("valueString")),
            "starts_at": _text(alert.get("startsAt")),
            "ends_at": _text(alert.get("endsAt")) if ended else "",
        }
        identity = f"{alert['fingerprint']} {alert['status']} {data['starts_at']} {data['ends_at']}"
        yield "alert.resolved" if ended else "alert.raised", identity, data


def _texts(given: Any) -> dict[str, str]:
    return {str(name): _text(value) for name, value in given.items()} if isinstance(given, Mapping) else {}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
