"""Incidents: an alert is sent to one channel after the other until somebody acknowledges it, or it is over."""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from django.utils.translation import gettext as _, gettext_lazy
from pydantic import BaseModel, Field

from common.uuid7 import first_of
from events.flows.base import Flow, FlowEvent, State, Turn, on
from events.pure import types

RAISED, RESOLVED, ACKNOWLEDGED = "alert.raised", "alert.resolved", "incident.acknowledged"
CHANNELS, NOTIFIED = "carillon_channels", "carillon_told"
"""Labels of Carillon's own alerts: the channels to notify instead, by commas; that the alert was sent without us."""
MOST_ROUNDS = 10
"""So often it is sent to all channels without an answer."""
LONGEST = 525_600
"""Minutes for which a snooze acknowledges, at most."""
_SKEW = timedelta(seconds=10)
"""Between the clocks of web processes and of the database."""


class IncidentSettings(BaseModel):
    """`channels` are tried in this order, `wait` minutes apart. `again`: minutes after which an acknowledged incident
    that lasts is sent again. `flapping`: minutes in which an alert that is raised again opens the same incident."""

    channels: list[UUID] = Field(min_length=1)
    wait: int = Field(5, ge=1, le=1440)
    again: int = Field(60, ge=1, le=10_080)
    flapping: int = Field(10, ge=1, le=1440)
    installation: bool = False


class IncidentState(State):
    """`raised` counts the alerts, `rings` the messages, since it was last acknowledged `in_turn`. `phase`: open,
    acknowledged or resolved. `told_over`: its end was sent since its last message. `channels` take the place of
    those of the settings, if there are any. `newest`: the id of the newest event that raised or resolved it."""

    phase: str = "open"
    title: str = ""
    summary: str = ""
    severity: str = ""
    url: str = ""
    raised: int = 0
    reopened: int = 0
    rings: int = 0
    in_turn: int = 0
    told_over: bool = False
    channels: list[UUID] = []
    newest: UUID | None = None

    def is_late(self, event: FlowEvent, now: datetime) -> bool:
        """Whether it was recorded before one that was handled already: several workers take events at once.

        One that seems to come from the future says nothing: the clock was set back.
        """
        if self.newest is not None and event.id < self.newest < first_of(now + _SKEW):
            return True
        self.newest = event.id
        return False


class Incident(Flow):
    name = "incident"
    label = gettext_lazy("Incidents")
    position = 10
    begins_on = (RAISED,)
    State = IncidentState
    Settings = IncidentSettings

    def key(self, event: FlowEvent) -> str:
        key = str(event.data["key"])
        return key if len(key) <= 200 else hashlib.sha256(key.encode()).hexdigest()

    @on(RAISED)
    def raised(self, run: Turn, event: FlowEvent) -> None:
        state, data = run.state, event.data
        state.raised += 1
        if state.is_late(event, run.now):
            return
        state.title, state.summary = data["title"][:300], data.get("summary", "")[:2_000]
        state.severity, state.url = data.get("severity", "")[:100], data.get("url", "")[:1_000]
        own = _own_labels(event)
        state.channels = [UUID(one) for one in own.get(CHANNELS, "").split(",") if one]
        if state.raised == 1 and NOTIFIED in own:
            self._count_message(run)
        elif state.raised == 1:
            self._notify(run)
        elif state.phase == "resolved":  # flapping: it is sent if it lasts
            state.phase, state.reopened = "open", state.reopened + 1
            run.wait(ACKNOWLEDGED, run.settings.wait * 60)

    @on(ACKNOWLEDGED)
    def acknowledged(self, run: Turn, event: FlowEvent) -> None:
        if run.state.phase == "open":
            run.state.phase, run.state.in_turn = "acknowledged", 0
            run.withdraw()
            again = event.data.get("again")
            minutes = again if type(again) is int and 0 < again <= LONGEST else run.settings.again
            run.wait(RESOLVED, minutes * 60)

    @on(RESOLVED)
    def resolved(self, run: Turn, event: FlowEvent) -> None:
        state = run.state
        if state.is_late(event, run.now) or state.phase == "resolved":
            return
        state.phase = "resolved"
        run.withdraw()
        if not state.told_over and NOTIFIED not in _own_labels(event):
            channels = self._channels(run)[: state.rings]
            run.notify(_("Over: %(title)s") % {"title": state.title}, self._body(run), channels)
            state.told_over = True
        run.wait(RAISED, run.settings.flapping * 60)

    @on(types.WAIT_OVER)
    def over(self, run: Turn, event: FlowEvent) -> None:
        if run.state.phase == "resolved":
            run.finish()
        else:
            run.state.phase = "open"
            self._notify(run)

    def _channels(self, run: Turn) -> list[UUID]:
        channels: list[UUID] = run.state.channels or run.settings.channels
        return channels

    def _notify(self, run: Turn) -> None:
        state, channels = run.state, self._channels(run)
        subject = f"{state.severity}: {state.title}" if state.severity else state.title
        run.notify(subject, self._body(run), [channels[state.in_turn % len(channels)]], urgent=True)
        self._count_message(run)

    def _count_message(self, run: Turn) -> None:
        state = run.state
        state.rings, state.in_turn, state.told_over = state.rings + 1, state.in_turn + 1, False
        if state.in_turn < MOST_ROUNDS * len(self._channels(run)):
            run.wait(ACKNOWLEDGED, run.settings.wait * 60)

    def _body(self, run: Turn) -> str:
        state = run.state
        counted = _("Raised %(count)s times.") % {"count": state.raised} if state.raised > 1 else ""
        return "\n".join(filter(None, (state.summary, counted, state.url, run.page)))


def _own_labels(event: FlowEvent) -> dict[str, str]:
    """The labels of Carillon's own alerts; none of others, whose labels mean nothing here."""
    return event.data.get("labels", {}) if event.source == types.SOURCE else {}
