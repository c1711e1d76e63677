"""The admin's page of kinds counts what waits and what has died, by kind and queue."""

from __future__ import annotations

from django.test import Client

from jobs.models import Job
from schedules.firing import fire
from tests.make import NINE, check, make_job_schedule, make_user, signed_in


def test_it_lists_every_kind_and_those_that_only_jobs_name(operator: Client) -> None:
    for kind, value in (("sample", "seven"), ("sample", "refused"), ("gone", "")):
        make_job_schedule(make_user(), kind, {"value": value})
    fire.fire_due(NINE)
    for job in Job.objects.exclude(payload={"value": "seven"}):
        check(job)
    rows = {row[1]: row[2:] for row in operator.get("/admin/job-kinds/").context["table"]["rows"]}
    assert rows["sample"] == ["jobs", "–", "1", "1"]
    assert rows["linked"] == ["jobs", "sample", "0", "0"]
    assert rows["gone"] == ["jobs", "not available here", "0", "1"]


def test_only_who_may_see_jobs_opens_it() -> None:
    assert signed_in(email="helper@example.org", is_staff=True).get("/admin/job-kinds/").status_code == 403
