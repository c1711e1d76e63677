"""The job section of the form while it is filled in, the buttons “Check now”, and what a check has found since."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render

from jobs.checks import check_now as checks
from jobs.models import Job
from people.access.requests import PersonRequest, person_action, person_page
from schedules.changes import editing
from schedules.firing import fire
from schedules.inputs.reminder_form import ReminderForm
from schedules.models import Schedule
from schedules.web.edit import form_page
from schedules.web.preview import edited
from schedules.web.reminders import detail_page


@person_action
def choose(request: PersonRequest) -> HttpResponse:
    """Show the fields of the chosen kind. What was typed stays."""
    form, schedule = _form(request)
    form.show_errors_of(())
    for name, suggested in form.suggestions().items():
        form.retype(name, suggested)
    return form_page(request, form, schedule)


@person_action
def typed(request: PersonRequest) -> HttpResponse:
    form, schedule = _form(request)
    problems = form.job_errors()
    checked = None
    if form.job is not None and not problems:
        wanted = form.typed_schedule()
        origin_id = schedule.id if schedule and editing.asks_the_same(wanted, schedule) else None
        checked = checks.check_now(request.user, wanted, origin_id)
    form.show_errors_of([name for name in form.errors if form.is_of_job(name)])
    return form_page(request, form, schedule, checked=checked, problems=problems)


@person_action
def of_reminder(request: PersonRequest, schedule_id: UUID) -> HttpResponse:
    schedule = Schedule.objects.select_related("connection").own(request.user, id=schedule_id)
    checked = checks.check_now(request.user, schedule, schedule.id) if schedule.job_kind else None
    return detail_page(request, schedule, checked)


@person_page
def result(request: PersonRequest, check_id: UUID) -> HttpResponse:
    """Show what a check has found; while it is under way, the page asks again, also without scripts."""
    try:
        checked = checks.find(request.user, check_id)
    except Job.DoesNotExist:
        raise Http404 from None
    response = render(request, "schedules/check_result.html", {"checked": checked})
    if checked.is_open and "HX-Request" not in request.headers:
        response["Refresh"] = "2"
    return response


def _form(request: PersonRequest) -> tuple[ReminderForm, Schedule | None]:
    schedule = edited(request)
    return ReminderForm(request.POST, user=request.user, now=fire.read_clock().now, schedule=schedule), schedule
