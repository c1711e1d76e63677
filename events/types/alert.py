"""Alerts of a monitoring system."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from events.types.base import EventType, Schema


class AlertData(Schema):
    """`key` is the same for all events of one alert. Times are as the monitoring system writes them."""

    key: str
    title: str
    summary: str = ""
    severity: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    url: str = ""
    value: str = ""
    starts_at: str = ""
    ends_at: str = ""


_EXAMPLE = {
    "key": "c4ca4238a0b92382",
    "title": "DiskFull",
    "summary": "The disk of db1 is 95 % full.",
    "severity": "critical",
    "labels": {"alertname": "DiskFull", "instance": "db1", "severity": "critical"},
    "annotations": {"summary": "The disk of db1 is 95 % full."},
    "url": "https://grafana.example.org/d/disk",
    "value": "95",
    "starts_at": "2026-03-29T16:00:00Z",
    "ends_at": "",
}
_FROM = _("Grafana and Alertmanager, through an inbound address; your programs")

TYPES = [
    EventType("alert.raised", _("Something is wrong."), AlertData, _EXAMPLE, _FROM, is_inside=False),
    EventType("alert.resolved", _("It is well again."), AlertData, _EXAMPLE, _FROM, is_inside=False),
]
