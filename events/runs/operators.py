"""The operators who are told of problems of this installation, and what each has been told of.

A problem is an alert of Carillon's own to each of them, which opens an incident: once while it lasts, and once when it
is over.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

from django.db import transaction
from django.utils.translation import gettext as _

from common.database.postgres import query
from common.texts import languages
from common.uuid7 import uuid7
from events.flows.incident import CHANNELS, NOTIFIED, RAISED, RESOLVED, Incident
from events.intake import ledger
from events.intake.ledger import Happened
from events.models import FlowSettings, OpenAlert
from events.pure import types
from events.pure.envelope import Envelope
from events.runs.incidents import KEYS
from notifications.models import Channel
from people.models import User
from work.operators.problems import Problem, Words

_LOCK = 0x6F_70_65_72  # of PostgreSQL's advisory locks: held by the one who records
# So many of one check that begin at once are one alert.
_MOST, _MOST_OF_CHECK = 3, {"dead": 50}
_LISTED = 10


class Operator(NamedTuple):
    """`channels` work now: first those that they chose, in their order."""

    user: User
    channels: Sequence[Channel]


class Alert(NamedTuple):
    """An alert of one operator. `keys` are the problems that are one alert; `is_over`: they have ended."""

    operator: Operator
    key: str
    words: Words
    keys: Sequence[str] = ()
    is_over: bool = False


def chosen() -> list[Operator]:
    """The operators who are told of problems."""
    rows = list(
        FlowSettings.objects.filter(
            flow=Incident.name, enabled=True, settings__installation=True, user__is_staff=True, user__is_active=True
        ).select_related("user")
    )
    users = [row.user_id for row in rows]
    own = defaultdict(list)
    for channel in Channel.objects.read_by_people().filter(user__in=users):
        own[channel.user_id].append(channel)
    return [Operator(row.user, _in_order(own[row.user_id], row.settings)) for row in rows]


def _in_order(own: Iterable[Channel], settings: Any) -> list[Channel]:
    order = [str(one) for one in settings.get("channels") or []]
    return sorted(own, key=lambda one: (order.index(str(one.id)) if str(one.id) in order else len(order), one.id))


def open_keys() -> set[str]:
    return set(OpenAlert.objects.values_list("key", flat=True).distinct())


@transaction.atomic
def update(
    operators: Sequence[Operator], problems: Sequence[Problem], unknown: Collection[str], *, is_direct: bool
) -> list[Alert]:
    """Record what began and what is over, with an event to each operator. Returns it; nothing while another one does.

    Of the checks `unknown`, nothing is over. `is_direct`: the caller tells them, so the incidents send nothing at once.
    """
    [row] = query("SELECT pg_try_advisory_xact_lock(%s) AS ours", [_LOCK])
    if not row.ours:
        return []
    stored = list(OpenAlert.objects.order_by("id"))
    lasting = {problem.key for problem in problems}
    over = [one for one in stored if one.key not in lasting and one.key.partition(":")[0] not in unknown]
    alerts = []
    for operator in operators:
        own = [one for one in stored if one.user_id == operator.user.pk]
        with languages.override(operator.user.language):
            alerts += _ended(operator, own, over)
            alerts += _started(operator, {one.key for one in own}, problems)
    OpenAlert.objects.filter(id__in=[one.id for one in over]).delete()
    OpenAlert.objects.bulk_create(
        OpenAlert(user=alert.operator.user, key=key, alert=alert.key, title=alert.words.title[:300])
        for alert in alerts
        for key in alert.keys
    )
    refusing = {problem.key.partition(":")[2] for problem in problems if problem.check == "provider"}
    ledger.record_all([_event(alert, refusing, is_direct) for alert in alerts])
    return alerts


def _ended(operator: Operator, own: Sequence[OpenAlert], over: Collection[OpenAlert]) -> list[Alert]:
    """The alerts of which no problem lasts."""
    ended = {one.alert: one.title for one in own if one in over}
    lasting = {one.alert for one in own if one not in over}
    return [Alert(operator, key, Words(title, ""), is_over=True) for key, title in ended.items() if key not in lasting]


def _started(operator: Operator, existing: Collection[str], problems: Iterable[Problem]) -> list[Alert]:
    by_check: dict[str, list[tuple[Problem, Callable[[], Words]]]] = defaultdict(list)
    for problem in problems:
        if problem.key not in existing and problem.words is not None:
            by_check[problem.check].append((problem, problem.words))
    alerts = []
    for check, new in by_check.items():
        if len(new) <= _MOST_OF_CHECK.get(check, _MOST):
            alerts += [Alert(operator, problem.key, words(), [problem.key]) for problem, words in new]
        else:
            keys = [one.key for one, _words in new]
            # The same for all operators: one acknowledges it for all.
            together = uuid5(NAMESPACE_URL, " ".join(sorted(keys)))
            alerts.append(Alert(operator, f"{check}:{together}", _together(new), keys))
    return alerts


def _together(new: Sequence[tuple[Problem, Callable[[], Words]]]) -> Words:
    first = new[0][1]()
    titles = [words().title for _problem, words in new[:_LISTED]]
    title = _("%(title)s, and %(count)s more") % {"title": titles[0], "count": len(new) - 1}
    return Words(title, "\n".join([*titles, *(["…"] if len(new) > _LISTED else [])]), first.url)


def _event(alert: Alert, refusing: Collection[str], is_direct: bool) -> Happened:
    labels = {NOTIFIED: "directly"} if is_direct else {}
    if refusing:
        labels[CHANNELS] = ",".join([str(one.id) for one in alert.operator.channels if one.provider not in refusing])
    data = {
        "key": f"{KEYS}{alert.key}",
        "title": alert.words.title[:300],
        "summary": alert.words.summary,
        "url": alert.words.url,
        "labels": labels,
    }
    kind = RESOLVED if alert.is_over else RAISED
    return Happened(alert.operator.user.pk, Envelope(type=kind, data=data, source=types.SOURCE))


def send_test(user_id: int) -> None:
    """Raise an alert that is over after a minute."""
    data = {
        "key": f"{KEYS}test:{uuid7()}",
        "title": _("A test of your incidents"),
        "summary": _("Nothing is wrong. It is over in a minute. Acknowledge it if you like."),
    }
    first = Envelope(type=RAISED, data=data, source=types.SOURCE)
    last = Envelope(type=RESOLVED, data=data, source=types.SOURCE, correlation_id=first.chain, delay=60)
    ledger.record(user_id, [first, last])
