"""What a clock change does to a slot, in words, for previews and for Explain."""

from __future__ import annotations

from datetime import datetime, timedelta

from common import durations
from schedules.rules import InvalidRule, Timetable, Work, civil, words

_FREQUENT = timedelta(hours=12)


def note(timetable: Timetable, slot: datetime, work: Work | None = None) -> str:
    """What a clock change did to this slot, or ""; also where finding out costs more than `work` has left.

    Beside what the rule itself says (moved, merged, once instead of twice): where the clock is turned back between this
    slot and the next, a rule that rings several times a day is silent until the clock has caught up.
    """
    try:
        said = timetable.rule.explain(slot)
        following = None if timetable.rule.is_elapsed else timetable.next_after(slot, work)
    except InvalidRule:
        return ""
    if following is None or following - slot > _FREQUENT:
        return said
    zone = timetable.rule.zone
    shown = civil.local(zone, following) - civil.local(zone, slot)
    if shown >= following - slot:
        return said
    silence = (
        f"silent while the clock shows the hour again: the next is at {words.clock(civil.local(zone, following))}, "
        f"{durations.said(following - slot)} later"
    )
    return f"{said}; {silence}" if said else f"{silence[0].upper()}{silence[1:]}"
