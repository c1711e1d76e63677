"""Checks of Healthchecks as watches: the fields of one, and the import of a list of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError

from common.parsing.budget import Budget
from notifications.inputs.channels_form import ChannelsForm
from people.models import User
from people.user_lock import lock_user
from schedules.firing.fire import read_clock
from watches import changes
from watches.inputs import WatchForm
from watches.models import Watch

_DAY, _HOUR = 86_400, 3_600
_SECONDS = 10  # of computing


class Spec(BaseModel):
    """The fields of a check. Those that a watch does not have may be sent as their default."""

    model_config = ConfigDict(extra="ignore", strict=True)

    name: str | None = None
    slug: str | None = None
    tags: str | None = None
    desc: str | None = None
    timeout: int | None = None
    grace: int | None = None
    schedule: str | None = None
    tz: str | None = None
    channels: str | None = None
    success_kw: str | None = None
    failure_kw: str | None = None
    unique: list[Literal["name", "slug", "tags", "timeout", "grace"]] = []
    methods: Literal[""] = ""
    manual_resume: Literal[False] = False
    start_kw: Literal[""] = ""
    subject: Literal[""] = ""
    subject_fail: Literal[""] = ""
    filter_subject: Literal[False] = False
    filter_body: Literal[False] = False


# All but what a watch does not have, and channels, which the person chooses.
_TAKEN = {"name", "slug", "tags", "desc", "timeout", "grace", "schedule", "tz", "success_kw", "failure_kw"}
_ONLY_DEFAULT = Spec.model_fields.keys() - _TAKEN - {"channels", "unique"}
# What an export also has, and no watch takes over.
_REPORTED = {
    *("n_pings", "status", "started", "last_ping", "next_ping", "last_duration", "uuid", "unique_key", "channels"),
    *("ping_url", "update_url", "pause_url", "resume_url", "badge_url", "filter_http_body", "filter_default_fail"),
}
NAMES = {"period": "timeout", "time_zone": "tz", "description": "desc"}
NAMES |= {"success_words": "success_kw", "failure_words": "failure_kw"}
"""Fields of a watch by another name there."""


def fields_of(spec: Spec, is_new: bool) -> dict[str, Any]:
    """The fields of a watch but its channels. Of a new one, what is not given has the default of Healthchecks."""
    fields: dict[str, Any] = {
        "name": spec.name,
        "slug": spec.slug,
        "description": spec.desc,
        "grace": spec.grace,
        "time_zone": spec.tz,
        "tags": _split(spec.tags and spec.tags.replace(",", " ")),
        "success_words": _split(spec.success_kw, ","),
        "failure_words": _split(spec.failure_kw, ","),
    }
    default: dict[str, Any] = {}
    if is_new:
        default = {"grace": _HOUR} if spec.schedule else {"grace": _HOUR, "period": _DAY}
        fields |= {"name": spec.name or spec.slug or "Unnamed check", "time_zone": spec.tz or "UTC"}
    if spec.schedule:
        fields["timing"] = {"cron": {"expression": spec.schedule}}
    else:
        fields["period"] = spec.timeout
    return default | {name: value for name, value in fields.items() if value is not None}


def _split(text: str | None, by: str | None = None) -> list[str] | None:
    return None if text is None else text.split(by)


@dataclass(slots=True)
class ImportedCheck:
    """`watch` is the new or existing one, None where none can be made. `form`: of a new one, not saved yet.

    `troubles`: the fields that are not understood, and why.
    """

    name: str
    watch: Watch | None = None
    form: WatchForm | None = None
    troubles: list[tuple[str, str]] = field(default_factory=list)


def plan(user: User, checks: Sequence[Any], sent: Mapping[str, Any]) -> list[ImportedCheck]:
    """Decide what becomes of each check; writes nothing. `sent`: the fields of `ChannelsForm`, which may lack channels.

    Raises OverBudget.
    """
    now, budget = read_clock().now, Budget(seconds=_SECONDS)
    watches, planned = list(Watch.objects.for_user(user)), []
    for check in checks:
        planned.append(one := _plan(user, check, watches, sent, now))
        if one.form is not None and one.watch is not None:
            watches.append(one.watch)
        budget.clock()
    return planned


def load(user: User, checks: Sequence[Any], sent: Mapping[str, Any]) -> list[tuple[str, Watch]]:
    """Create what `plan` says, all or nothing. Returns the name and the watch of each check that has one."""
    with lock_user(user):
        planned = plan(user, checks, sent)
        changes.create_all([(one.watch, one.form.ordered()) for one in planned if one.watch and one.form])
    ids = [(one.name, one.watch.id) for one in planned if one.watch is not None]
    watches: dict[UUID, Watch] = Watch.objects.select_related("user__ping_key").in_bulk([id for _name, id in ids])
    return [(name, watches[id]) for name, id in ids]


def _plan(user: User, check: Any, watches: Sequence[Watch], sent: Mapping[str, Any], now: datetime) -> ImportedCheck:
    if not isinstance(check, dict):
        return ImportedCheck(str(check)[:80], troubles=[("", _("This must be an object."))])
    name = str(check.get("name") or check.get("slug") or "Unnamed check").strip()
    one, slug = ImportedCheck(name[:80]), check.get("slug")
    one.watch = next((watch for watch in watches if _is_of(watch, name, slug)), None)
    if one.watch is not None:
        return one
    if len(watches) >= settings.MOST_WATCHES:
        one.troubles = [("", changes.limit_reached())]
        return one
    taken, one.troubles = _understood(check)
    try:
        fields = fields_of(Spec.model_validate(taken), is_new=True)
    except ValidationError as error:
        one.troubles += [(str(each["loc"][0]), _("This value cannot be read.")) for each in error.errors()]
        return one
    [(fields["kind"], parameters)] = fields.pop("timing", {"since": None}).items()
    _fill_in(one, WatchForm({**fields, **sent}, user=user, now=now, parameters=parameters))
    return one


def _is_of(watch: Watch, name: str, slug: Any) -> bool:
    return watch.slug == slug if watch.slug and slug else watch.name == name


def _fill_in(one: ImportedCheck, form: WatchForm) -> None:
    """The form and its watch, or what is wrong with the check; channels are chosen later."""
    if wrong := form.errors.keys() - ChannelsForm.base_fields.keys():
        for name in sorted(wrong):
            own = NAMES.get(name, name if name in _TAKEN else "schedule")
            one.troubles.append((own, str(form.errors[name][0])))
    else:
        one.watch, one.form = form.as_watch(), form


def _understood(check: Mapping[str, Any]) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The fields that a watch takes, and the others that would change something."""
    taken = {name: value for name, value in check.items() if name in _TAKEN}
    absent = [name for name in check.keys() - _TAKEN - _REPORTED if check[name] or name not in _ONLY_DEFAULT]
    absent += _without_effect(check, taken)
    text = _("Watches do not have this. It is left out.")
    return taken, [(name[:80], text) for name in sorted(absent)[:20]]


def _without_effect(check: Mapping[str, Any], taken: dict[str, Any]) -> list[str]:
    """Remove the keywords that have no effect on the output of a ping there. Returns the names that cannot be kept."""
    is_filtered, fails = check.get("filter_http_body"), check.get("filter_default_fail", True)
    absent = []
    for name, applies in (("success_kw", is_filtered and fails), ("failure_kw", is_filtered)):
        if taken.get(name) and not applies:
            del taken[name]
            absent.append(name)
    if is_filtered and check.get("filter_default_fail") and not taken.get("success_kw"):
        absent.append("filter_default_fail")
    return absent
