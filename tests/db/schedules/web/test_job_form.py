"""The job section of the form: choosing a kind, its fields, its connection, what is stored, and Check now."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from jobs.checks import check_now
from jobs.checks.check_now import Checked
from jobs.models import Connection, Job, Memory, Result
from jobs.models.job import OnError
from notifications.models import Channel, Notification
from people.models import User
from schedules.changes import editing
from schedules.firing import fire
from schedules.models import Schedule
from tests import make
from tests.db.jobs.sample_kinds.sample import Sample
from tests.db.schedules.web.typed import typed
from tests.make import NINE, NOON, make_channel, make_job_schedule, make_user, signed_in
from work.engine import rescue

pytestmark = pytest.mark.usefixtures("sample_kinds")


@pytest.fixture
def inbox(ada: User) -> Channel:
    return make_channel(ada)


def sample(*channels: Channel, **overrides: Any) -> dict[str, Any]:
    """A reminder that checks the sample."""
    fields = {"job_kind": "sample", "job_shown": "sample", "job-value": "seven", "title": "It is {value}"}
    return typed(*channels, **(fields | overrides))


def linked(*channels: Channel, **overrides: Any) -> dict[str, Any]:
    """One that uses a connection."""
    return sample(*channels, **({"job_kind": "linked", "job_shown": "linked"} | overrides))


def connect(user: User, **fields: Any) -> Connection:
    return Connection.objects.create(**({"user": user, "kind": "sample", "label": "Mine"} | fields))


def errors_of(answer: Any) -> set[str]:
    return set(answer.context["form"].errors)


def test_a_kind_and_its_question_are_stored(browser: Client, ada: User, inbox: Channel) -> None:
    browser.post("/reminders/new/", sample(inbox, on_error="after", errors_allowed="5"))
    made = Schedule.objects.get()
    assert (made.job_kind, made.job_payload) == ("sample", {"value": "seven", "changes": False})
    assert (made.on_error, made.errors_allowed, made.connection_id) == (OnError.AFTER, 5, None)


def test_always_stores_no_job(browser: Client, inbox: Channel) -> None:
    browser.post("/reminders/new/", typed(inbox, job_kind=""))
    assert (Schedule.objects.get().job_kind, Schedule.objects.get().job_payload) == ("", None)


def test_choosing_a_kind_shows_its_fields_and_texts_and_stores_nothing(browser: Client, inbox: Channel) -> None:
    answer = browser.post("/reminders/job/", typed(inbox, job_kind="sample", title="", body="", time="10:30"))
    form = answer.context["form"]
    assert (form["title"].value(), form["body"].value()) == ("It is {value}", "The sample is {value}.")
    assert (form.question["changes"].value(), form["time"].value(), errors_of(answer)) == (None, "10:30", set())
    assert not Schedule.objects.exists()


def test_a_report_over_everybody_is_offered_to_staff_alone(ada: User, inbox: Channel) -> None:
    report = typed(inbox, job_kind="report", job_shown="report", **{"job-period": "week", "job-of": "everybody"})
    assert errors_of(signed_in(ada).post("/reminders/new/", report)) == {"job-of"}
    staff = make_user(is_staff=True, is_superuser=True)
    assert signed_in(staff).post("/reminders/new/", report | {"channels": make_channel(staff).id}).status_code == 302
    shown = signed_in(ada).post("/reminders/job/", typed(inbox, job_kind="report")).context["form"].question
    assert [value for value, _ in shown.fields["of"].choices] == ["me"]


def test_a_watched_page_is_read_as_a_web_page_at_first(browser: Client, inbox: Channel) -> None:
    shown = browser.post("/reminders/job/", typed(inbox, job_kind="web_value")).content.decode()
    assert '<option value="html" selected>' in shown


def test_texts_that_were_typed_stay_and_suggested_ones_go_with_their_kind(browser: Client, inbox: Channel) -> None:
    chosen = browser.post("/reminders/job/", typed(inbox, job_kind="sample", title="Mine", body="My text"))
    assert (chosen.context["form"]["title"].value(), chosen.context["form"]["body"].value()) == ("Mine", "My text")
    dropped = browser.post("/reminders/job/", typed(inbox, job_kind="", title="It is {value}", body="Mine"))
    assert (dropped.context["form"]["title"].value(), dropped.context["form"]["body"].value()) == ("", "Mine")


def test_a_kind_whose_fields_were_not_shown_is_not_saved(browser: Client, inbox: Channel) -> None:
    answer = browser.post("/reminders/new/", sample(inbox, job_shown="", **{"job-value": None}))
    assert errors_of(answer) == {"job_kind"}
    assert answer.context["form"].question is not None
    assert not Schedule.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"job-value": ""}, "job-value"),
        ({"job_kind": "gone", "job_shown": "gone", "title": "T"}, "job_kind"),
        ({"title": "It is {valu}"}, "title"),
        ({"body": "{nothing}"}, "body"),
        ({"on_error": "never"}, "on_error"),
        ({"errors_allowed": "0"}, "errors_allowed"),
        ({"connection": "x"}, "connection"),
        ({"connection": "01890a5d-ac96-774b-bcce-b302099a8057"}, "connection"),
    ],
)
def test_errors_name_their_field(browser: Client, inbox: Channel, wrong: dict[str, Any], field: str) -> None:
    assert errors_of(browser.post("/reminders/new/", sample(inbox, **wrong))) == {field}
    assert not Schedule.objects.exists()


def test_a_reminder_without_a_job_does_not_know_the_placeholders_of_a_kind(browser: Client, inbox: Channel) -> None:
    assert errors_of(browser.post("/reminders/new/", typed(inbox, title="It is {value}"))) == {"title"}


def test_a_connection_is_stored_and_needed(browser: Client, ada: User, inbox: Channel) -> None:
    assert errors_of(browser.post("/reminders/new/", linked(inbox))) == {"connection"}
    mine = connect(ada)
    browser.post("/reminders/new/", linked(inbox, connection=str(mine.id)))
    assert Schedule.objects.get().connection == mine


def test_only_ones_own_connections_of_that_kind_are_taken(browser: Client, ada: User, inbox: Channel) -> None:
    others = [connect(make_user()), connect(ada, kind="other"), connect(ada, removed_at=NOON)]
    for other in others:
        assert errors_of(browser.post("/reminders/new/", linked(inbox, connection=str(other.id)))) == {"connection"}
    offered = browser.post("/reminders/job/", linked(inbox)).context["form"]["connection"]
    assert not any(str(other.id) in str(offered) for other in others)


def test_a_kind_that_never_speaks_needs_no_channel(browser: Client) -> None:
    browser.post("/reminders/new/", sample(job_kind="silent", job_shown="silent"))
    assert Schedule.objects.get().job_kind == "silent"
    assert errors_of(browser.post("/reminders/new/", sample())) == {"channels"}


def test_editing_shows_what_is_stored_and_keeps_it(browser: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, "linked", {"value": "seven", "changes": True}, channels=[inbox])
    Schedule.objects.update(connection=connect(ada), on_error=OnError.SEND)
    form = browser.get(f"/reminders/{schedule.id}/edit/").context["form"]
    assert (form["job_kind"].value(), form.question["value"].value()) == ("linked", "seven")
    assert (form.question["changes"].value(), form["on_error"].value()) == (True, "send")
    before = Schedule.objects.values("job_kind", "job_payload", "connection", "on_error").get()
    sent = linked(inbox, version="1", on_error="send", connection=str(before["connection"]))
    assert browser.post(f"/reminders/{schedule.id}/edit/", sent | {"job-changes": "on"}).status_code == 302
    assert Schedule.objects.values("job_kind", "job_payload", "connection", "on_error").get() == before


def test_a_form_without_the_section_keeps_the_job(operator: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"}, channels=[inbox])
    path = f"/admin/schedules/schedule/{schedule.id}/edit/"
    answer = operator.post(path, typed(inbox, title="Now {value}", version="1"))
    schedule.refresh_from_db()
    assert (answer.status_code, schedule.title) == (302, "Now {value}")
    assert (schedule.job_kind, schedule.job_payload) == ("sample", {"value": "seven"})


def test_a_stored_kind_that_is_gone_is_shown_and_not_saved_again(browser: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, "gone", channels=[inbox], title="T")
    assert b"gone (not available)" in browser.get(f"/reminders/{schedule.id}/edit/").content
    assert browser.get(f"/reminders/{schedule.id}/").status_code == 200
    answer = browser.post(f"/reminders/{schedule.id}/edit/", typed(inbox, job_kind="gone", version="1"))
    assert errors_of(answer) == {"job_kind"}


def test_a_conflict_shows_both_questions(browser: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"}, channels=[inbox])
    editing.pause(schedule.id, NOON)
    answer = browser.post(f"/reminders/{schedule.id}/edit/", sample(inbox, version="1", **{"job-value": "eight"}))
    assert (answer.status_code, ("Checks", "seven", "eight") in answer.context["differences"]) == (409, True)


def test_a_copy_checks_the_same(browser: Client, ada: User) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"})
    browser.post(f"/reminders/{schedule.id}/duplicate/")
    copy = Schedule.objects.exclude(id=schedule.id).get()
    assert (copy.job_kind, copy.job_payload) == ("sample", {"value": "seven"})


def test_another_question_forgets_what_was_found_and_other_words_do_not(
    browser: Client, ada: User, inbox: Channel
) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven", "changes": False}, channels=[inbox])
    Memory.objects.create(origin_id=schedule.id, user=ada, state="seven", failures=2)
    browser.post(f"/reminders/{schedule.id}/edit/", sample(inbox, version="1", title="Now {value}"))
    assert Memory.objects.get().state == "seven"
    browser.post(f"/reminders/{schedule.id}/edit/", sample(inbox, version="2", **{"job-value": "eight"}))
    assert (Memory.objects.get().state, Memory.objects.get().failures) == (None, 0)


def test_pausing_cancels_what_has_not_checked_yet(ada: User) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"})
    fire.fire_due(NINE)
    editing.pause(schedule.id, NINE)
    assert (Job.objects.get().state, Job.objects.get().reason_code) == ("cancelled", "paused")


# Check now


def check(browser: Client, fields: dict[str, Any], path: str = "/reminders/check/") -> Any:
    """What is found, once a worker has checked."""
    return found(browser, browser.post(path, fields).context["checked"])


def found(browser: Client, checked: Checked) -> Any:
    if not checked.is_open:
        return checked
    make.check(Job.objects.get(id=checked.id))
    return browser.get(f"/reminders/check/{checked.id}/").context["checked"]


def test_check_now_shows_what_it_would_say_and_sends_nothing(browser: Client, inbox: Channel) -> None:
    checked = check(browser, sample(inbox, body="{name}: {value}"))
    assert (checked.outcome, checked.reason.code) == ("spoke", "sample-checked")
    assert (checked.text.subject, checked.text.body) == ("It is seven", "Ada: seven")
    for model in (Schedule, Memory, Result, Notification):
        assert not model.objects.exists()


def test_the_web_process_only_waits_for_a_workers_check(
    browser: Client, inbox: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sample, "check", None)
    checked = browser.post("/reminders/check/", sample(inbox)).context["checked"]
    page = browser.get(f"/reminders/check/{checked.id}/")
    assert (page.context["checked"].is_open, page["Refresh"]) == (True, "2")
    assert "Refresh" not in browser.get(f"/reminders/check/{checked.id}/", headers={"HX-Request": "true"})
    assert signed_in(email="eve@example.org").get(f"/reminders/check/{checked.id}/").status_code == 404
    Job.objects.update(expires_at=NOON)
    rescue.rescue()
    assert browser.get(f"/reminders/check/{checked.id}/").context["checked"].outcome == "failed"


def test_a_check_now_that_ends_within_a_second_is_shown_at_once(
    browser: Client, inbox: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_now, "WAIT", 1.0)
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: make.check(Job.objects.get()))
    monkeypatch.setattr(check_now, "time", clock)
    assert browser.post("/reminders/check/", sample(inbox)).context["checked"].outcome == "spoke"


def test_a_check_now_that_fails_is_no_failure_of_its_reminder(browser: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "refused"}, channels=[inbox])
    check(browser, {}, f"/reminders/{schedule.id}/check/")
    rescue.rescue()
    assert (Memory.objects.exists(), Notification.objects.exists()) == (False, False)
    assert Job.objects.get().state == "decided"
    assert browser.get(f"/reminders/{schedule.id}/").context["last_check"] is None


@pytest.mark.parametrize(
    ("value", "outcome", "code"),
    [
        ("nothing", "silent", "sample-checked"),
        ("later", "failed", "sample-away"),
        ("refused", "failed", "sample-away"),
        ("bug", "failed", "fault"),
    ],
)
def test_check_now_says_why_nothing_would_be_said(
    browser: Client, inbox: Channel, value: str, outcome: str, code: str
) -> None:
    checked = check(browser, sample(inbox, **{"job-value": value}))
    assert (checked.outcome, checked.reason.code, checked.text) == (outcome, code, None)
    page = browser.get(f"/reminders/check/{checked.id}/").content.decode()
    assert ('class="message error"' in page) is (outcome == "failed")


def test_check_now_needs_only_the_question_and_the_texts(browser: Client) -> None:
    context = browser.post("/reminders/check/", sample(kind=None, time_zone=None)).context
    assert (found(browser, context["checked"]).outcome, context["form"].errors) == ("spoke", {})
    context = browser.post("/reminders/check/", sample(**{"job-value": ""})).context
    assert (context["checked"], len(context["problems"])) == (None, 1)


def test_check_now_of_a_stored_reminder_knows_what_its_checks_found(browser: Client, ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven", "changes": True}, channels=[inbox])
    Memory.objects.create(origin_id=schedule.id, user=ada, state="seven")
    path = f"/reminders/{schedule.id}/check/"
    assert check(browser, {}, path).outcome == "silent"
    sent = sample(inbox, **{"job-changes": "on"})
    assert check(browser, sent, f"/reminders/check/?of={schedule.id}").outcome == "silent"
    other = check(browser, sent | {"job-value": "eight"}, f"/reminders/check/?of={schedule.id}")
    assert other.outcome == "spoke"
    assert (Memory.objects.get().state, Memory.objects.get().version) == ("seven", 1)


def test_check_now_of_somebody_elses_reminder_knows_nothing_of_it(ada: User, inbox: Channel) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven", "changes": True}, channels=[inbox])
    Memory.objects.create(origin_id=schedule.id, user=ada, state="seven")
    other = signed_in()
    context = other.post(f"/reminders/check/?of={schedule.id}", sample(**{"job-changes": "on"})).context
    assert (found(other, context["checked"]).outcome, context["schedule"]) == ("spoke", None)


def test_check_now_is_limited(browser: Client, inbox: Channel) -> None:
    outcomes = [check(browser, sample(inbox)) for _ in range(11)]
    assert [one.outcome for one in outcomes] == ["spoke"] * 10 + ["failed"]
    assert outcomes[-1].reason.code == "checked-too-often"


def test_check_now_through_a_disabled_or_unreadable_connection_says_so(
    browser: Client, ada: User, inbox: Channel
) -> None:
    disabled = connect(ada, disabled_at=NOON, failing_code="sample-away")
    unreadable = connect(ada, sealed_secrets="broken")
    codes = [check(browser, linked(inbox, connection=str(one.id))).reason.code for one in (disabled, unreadable)]
    assert codes == ["connection-disabled", "connection-unreadable"]


def test_the_form_of_a_kind_takes_one_statement_more_with_connections(
    browser: Client, ada: User, inbox: Channel, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    schedule = make_job_schedule(ada, "linked", {"value": "seven"}, channels=[inbox])
    for _ in range(5):
        connect(ada)
    with django_assert_num_queries(10):
        browser.get(f"/reminders/{schedule.id}/edit/")


def test_lists_and_pages_show_what_is_checked(browser: Client, ada: User) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"})
    for path in ("/reminders/", f"/reminders/{schedule.id}/"):
        assert b"hecks seven" in browser.get(path).content


def test_lists_name_what_is_checked_where_the_title_waits_for_what_is_found(browser: Client, ada: User) -> None:
    schedule = make_job_schedule(ada, payload={"value": "seven"}, title="It is {value}")
    assert schedule.name == "Sample: seven"
    shown = browser.get("/reminders/").content.decode()
    assert ">Sample: seven</a></h3>" in shown and "It is {value}" not in shown
    schedule.title = "Bins, {name}"
    assert schedule.name == "Bins, {name}"


def test_the_page_of_kinds_lists_every_kind_and_for_staff_its_queue(browser: Client, ada: User) -> None:
    page = browser.get("/job-kinds/").content.decode()
    assert all(word in page for word in ("Sample", "Linked sample", "{value}"))
    assert "<code>jobs</code>" not in page
    User.objects.filter(pk=ada.pk).update(is_staff=True)
    assert "<code>jobs</code>" in browser.get("/job-kinds/").content.decode()
