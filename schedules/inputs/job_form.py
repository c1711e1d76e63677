"""The job section of a form: what a reminder checks before it speaks, through what, and what follows a failure."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.edit_form import EditForm, WholeNumberField, own_field, refuse
from jobs import kinds
from jobs.kinds.base import JobKind
from jobs.models import Connection
from jobs.models.job import OnError
from notifications.messages import text
from notifications.net import address_checks
from people.models import User
from schedules.models import Schedule

PREFIX = "job"
"""The fields of the kind are named `job-…`."""
MOST_ERRORS_ALLOWED = 100
_TEXTS = ("title", "body")
_NO_JOB = {name: getattr(Schedule(), name) for name in Schedule.JOB}


def _choices() -> list[tuple[str, Any]]:
    offered = [(kind.name, kind.label) for kind in kinds.offered()]
    return [("", _("Always"))] + ([(_("Only after a check of"), offered)] if offered else [])


class JobForm(EditForm):
    """`job` is the chosen kind, None for none or an unknown one; `question` is its form, with the names of `PREFIX`.

    `job_shown` of the data names the kind whose fields the page had: those of another one were not filled in.
    """

    # The name of a kind of job, empty for none. A stored kind that is not available stays visible.
    job_kind = forms.ChoiceField(
        label=gettext_lazy("Remind me"),
        required=False,
        choices=_choices,
        error_messages={
            "invalid_choice": gettext_lazy("There is no kind of job “%(value)s” here. Choose another one.")
        },
    )
    connection = forms.UUIDField(
        label=gettext_lazy("Connection"),
        required=False,
        widget=forms.Select,
        error_messages={"invalid": gettext_lazy("This is not one of your connections. Choose from those listed.")},
    )
    on_error = forms.ChoiceField(
        label=gettext_lazy("If the check fails"),
        choices=OnError.choices,
        required=False,
        initial=OnError.DAILY,
        widget=forms.RadioSelect,
        error_messages={"invalid_choice": gettext_lazy("Choose “daily”, “after” or “send”.")},
    )
    errors_allowed = WholeNumberField(gettext_lazy("Failures in a row"), 1, MOST_ERRORS_ALLOWED, empty=3)

    job: JobKind | None
    question: forms.Form | None
    connections: list[Connection]

    def offer_jobs(self, user: User, schedule: Schedule | None, for_audience: bool) -> None:
        """Show the fields of the chosen kind. Call it once channels are offered, before anything is validated.

        For an audience each reader's own connection is used; that of its author is for “Check now” only.
        """
        self._user, self._schedule, self._for_audience = user, schedule, for_audience
        self.question, self.connections = None, []
        sent = self.is_bound and "job_kind" in self.data
        # A form without this section, such as the admin's, keeps what is stored.
        self._keeps = self.is_bound and not sent
        stored = "" if schedule is None else schedule.job_kind
        name = str(self.data["job_kind"]) if sent else stored
        self.job = kinds.find(name) if name else None
        if self.job is not None:
            self._offer(self.job, sent)
        elif stored and kinds.find(stored) is None:
            unavailable = (stored, _("%(stored)s (not available)") % {"stored": stored})
            own_field(self, "job_kind").choices = [*_choices(), unavailable]

    def _offer(self, job: JobKind, sent: bool) -> None:
        for name in _TEXTS:
            own_field(self, name).check = partial(text.check, more=tuple(job.placeholders))
        if not job.speaks:
            own_field(self, "channels").required = False
        if self._keeps:
            return
        self._shown = sent and self.data.get("job_shown") == job.name
        self.initial["job_kind"] = job.name
        initial, schedule = None, self._schedule
        if schedule is not None and schedule.job_kind == job.name:
            initial = initial_of(job, schedule.job_payload)
            self.initial.update(
                connection=schedule.connection_id, on_error=schedule.on_error, errors_allowed=schedule.errors_allowed
            )
        self.question = job.form(self.data if self._shown else None, prefix=PREFIX, initial=initial)
        job.restrict(self.question, self._user)
        if job.connection:
            self._offer_connections(job)

    def full_clean(self) -> None:
        """The errors of the kind's form are this form's too."""
        super().full_clean()
        if self.question is None or not self.question.is_bound:
            return
        # Without calling the addresses: that is for “Check now”, and this may be in a transaction.
        address_checks.are_valid(self._user.pk, self.question, visits=False)
        self.errors.update({f"{PREFIX}-{name}": errors for name, errors in self.question.errors.items()})

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self._keeps:
            return cleaned
        if (name := cleaned.get("job_kind")) and self.job is None:
            problem = _("The kind of job “%(name)s” is not available here. Choose another one.") % {"name": name}
            refuse(self, "job_kind", "unknown_kind", problem)
        elif self.job is not None and not self._shown:
            problem = _("Fill in the fields of “%(label)s”, then save again.") % {"label": self.job.label}
            refuse(self, "job_kind", "incomplete", problem)
        if "on_error" in cleaned:
            cleaned["on_error"] = cleaned["on_error"] or OnError.DAILY
        return cleaned

    def clean_connection(self) -> Connection | None:
        typed: UUID | None = self.cleaned_data["connection"]
        job = self.job
        if self._keeps or job is None or (typed is None and not self._needs_own(job)):
            return None
        if typed is None:
            raise ValidationError(_("Choose a connection, or add one."), "connection_required")
        if not job.connection:
            problem = _("“%(label)s” uses no connection. Leave this empty.") % {"label": job.label}
            raise ValidationError(problem, "connection_unused")
        for connection in self.connections:
            if connection.id == typed:
                return connection
        problem = _("This is not one of your connections for “%(label)s”. Choose from those listed.")
        raise ValidationError(problem % {"label": job.label}, "unknown_connection")

    def job_values(self) -> dict[str, Any]:
        if self._keeps and self._schedule is not None:
            return {name: getattr(self._schedule, name) for name in Schedule.JOB}
        if self.job is None or self.question is None:
            return _NO_JOB
        return {
            "job_kind": self.job.name,
            "job_payload": self.job.payload(self.question.cleaned_data),
            "connection": self.cleaned_data["connection"],
            "on_error": OnError(self.cleaned_data["on_error"]),
            "errors_allowed": self.cleaned_data["errors_allowed"],
        }

    def is_of_job(self, name: str) -> bool:
        """Whether “Check now” reads this field: it is one of this section, or a text."""
        return name in JobForm.base_fields or name in _TEXTS or name.startswith(f"{PREFIX}-")

    def job_errors(self) -> list[str]:
        """The errors of the fields that “Check now” reads, each with the label of its field."""
        errors = []
        for name in filter(self.is_of_job, self.errors):
            problem = " ".join(map(str, self.errors[name]))
            form = self.question if name.startswith(f"{PREFIX}-") and self.question is not None else self
            field = form.fields.get(name.removeprefix(f"{PREFIX}-"))
            label = "" if field is None else field.label or name.removeprefix(f"{PREFIX}-").capitalize()
            errors.append(f"{label}: {problem}" if label else problem)
        return errors

    def show_errors_of(self, names: Collection[str]) -> None:
        """As `EditForm` does; the kind's form shows its own."""
        super().show_errors_of(names)
        if self.question is not None and not any(name.startswith(f"{PREFIX}-") for name in names):
            self.question.errors.clear()

    def suggestions(self) -> dict[str, str]:
        """Values for what is not filled in: the texts of the chosen kind, also in place of those of another kind."""
        typed = {name: str(self.data.get(name, "")).replace("\r\n", "\n").strip() for name in _TEXTS}
        free = [name for name in _TEXTS if typed[name] in {"", *(getattr(kind, name) for kind in kinds.offered())}]
        unset = {name: str(self.fields[name].initial) for name in ("on_error", "errors_allowed")}
        return {name: getattr(self.job, name, "") for name in free} | {
            name: value for name, value in unset.items() if not self.data.get(name)
        }

    def typed_schedule(self) -> Schedule:
        """Return the schedule of a form without `job_errors`, not saved."""
        cleaned = self.cleaned_data
        zone = cleaned.get("time_zone") or self._user.zone.key
        return Schedule(title=cleaned["title"], body=cleaned["body"], time_zone=zone, **self.job_values())

    def _offer_connections(self, job: JobKind) -> None:
        own = Connection.objects.filter(user=self._user, removed_at=None, kind=job.connection)
        self.connections = list(own.order_by("label", "id"))
        named = [
            (str(one.id), _("%(label)s (disabled)") % {"label": one.label} if one.disabled_at else one.label)
            for one in self.connections
        ]
        unchosen = _("None yet") if job.needs_connection else _("None")
        without = _("Each reader’s own") if self._for_audience else unchosen
        left_out = named and self._needs_own(job)
        own_field(self, "connection").widget.choices = named if left_out else [("", without), *named]

    def _needs_own(self, job: JobKind) -> bool:
        return bool(job.connection) and job.needs_connection and not self._for_audience


def initial_of(kind: JobKind, payload: Mapping[str, Any] | None) -> dict[str, Any]:
    """The fields of the kind's form for a stored payload; none for a damaged one."""
    try:
        return kind.form_initial(payload or {})
    except Exception:  # the form then asks for them again
        return {}
