"""Status pages: what strangers see, what it costs, and who may change it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.cache import cache
from django.db import connection
from django.http import Http404
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from events.models import Run
from people.models import User
from tests.db.watches.test_pings import HOUR, ping, set_back
from tests.make import make_user, make_watch, signed_in
from watches import changes, notices, tasks
from watches.models import DailyDowntime, PublicIncident, StatusPage, Watch
from watches.status_pages import status
from watches.status_pages.forms import PublicIncidentForm, StatusPageForm

DAY = timedelta(days=1)
URL = "/status/ours/"


@pytest.fixture(autouse=True)
def _not_cached() -> None:
    for part in ("page", "feed"):
        cache.delete(f"status:{part}:ours")


def make_page(ada: User, *watches: Watch, **changed: Any) -> StatusPage:
    page = StatusPage.objects.create(user=ada, title="Our services", slug="ours", **changed)
    page.watches.set(watches)
    return page


def was_down(watch: Watch, since: datetime, until: datetime) -> None:
    """Down and up again, as pings at these instants would have left it."""
    Watch.objects.filter(id=watch.id).update(state="down", state_since=since, deadline=None)
    Watch.objects.filter(id=watch.id).update(state="up", state_since=until)


def downtimes(watch: Watch) -> dict[str, float]:
    return {str(one.day): one.seconds for one in DailyDowntime.objects.filter(watch=watch)}


def test_it_shows_names_states_and_incidents_and_nothing_of_pings(client: Client, ada: User) -> None:
    watch = make_watch(ada, [], name="Shop <b>", description="secret words")
    ping(watch, "fail", output="secret output")
    page = make_page(ada, watch, intro="All of it.")
    page.incidents.create(title="Payments are slow", text="We are on it.")
    page.incidents.create(title="Disk was full", ended_at=timezone.now())
    answer = client.get(URL)
    text = answer.content.decode()
    for shown in ("Our services", "All of it.", "Shop &lt;b&gt;", "Something is down", "Payments are slow", "on it"):
        assert shown in text
    assert text.index("Payments") < text.index("Past incidents") < text.index("Disk was full")
    assert "secret" not in text
    assert "<script" not in text
    assert str(watch.token) not in text
    assert not answer.cookies


def test_incidents_are_shown_while_they_last_and_for_ninety_days(client: Client, ada: User) -> None:
    page, now = make_page(ada), timezone.now()
    for title, began, ended in (("Lasts", 100, None), ("Forgotten", 100, 95), ("Recent", 80, 79)):
        times = {"began_at": now - began * DAY, "ended_at": ended and now - ended * DAY}
        page.incidents.create(title=title, **times)
    text = client.get(URL).content.decode()
    assert [title in text for title in ("Lasts", "Forgotten", "Recent")] == [True, False, True]


def test_a_page_that_is_off_or_unknown_or_of_a_closed_account_is_not_found(client: Client, ada: User) -> None:
    page = make_page(ada, enabled=False)
    assert client.get(URL).status_code == 404
    StatusPage.objects.filter(id=page.id).update(enabled=True)
    assert client.get(URL).status_code == 200
    cache.delete("status:page:ours")
    User.objects.filter(id=ada.id).update(is_active=False)
    assert client.get(URL).status_code == 404
    assert client.get("/status/other/").status_code == 404


def test_a_deleted_watch_is_not_shown(client: Client, ada: User) -> None:
    watch = make_watch(ada, [], name="Shop")
    make_page(ada, watch)
    changes.delete(watch.id)
    assert "Shop" not in client.get(URL).content.decode()


def test_its_cost_does_not_grow_with_what_it_shows_and_the_next_reader_pays_nothing(client: Client, ada: User) -> None:
    page, counts = make_page(ada), []
    for _ in range(2):
        page.watches.add(*(make_watch(ada, []) for _ in range(5)))
        page.incidents.create(title="Slow")
        cache.delete("status:page:ours")
        with CaptureQueriesContext(
            connection,
        ) as first:
            client.get(URL)
        with CaptureQueriesContext(connection) as second:
            client.get(URL)
        counts.append((len(first), len(second)))
    assert counts == [(5, 0), (5, 0)]


def test_a_downtime_counts_for_each_day_that_it_touches(ada: User) -> None:
    watch = make_watch(ada, [])
    was_down(watch, datetime(2026, 6, 1, 23, 0, tzinfo=UTC), datetime(2026, 6, 3, 0, 30, tzinfo=UTC))
    was_down(watch, datetime(2026, 6, 3, 12, 0, tzinfo=UTC), datetime(2026, 6, 3, 12, 1, tzinfo=UTC))
    assert downtimes(watch) == {"2026-06-01": 3600, "2026-06-02": 86_400, "2026-06-03": 1860}


def test_pings_record_downtimes_also_one_that_beat_has_not_noticed(ada: User) -> None:
    watch, other = make_watch(ada, []), make_watch(ada, [])
    ping(watch, "fail", waited=30.0)
    ping(watch, "fail", waited=20.0)
    ping(watch)
    assert sum(downtimes(watch).values()) == pytest.approx(30)
    ping(other)
    ping(other)
    assert downtimes(other) == {}
    set_back(other, 3 * HOUR)
    ping(other)
    assert sum(downtimes(other).values()) == pytest.approx(2 * 3600 - 300, abs=60)


def test_a_downtime_without_end_is_cut_and_old_days_are_deleted(ada: User) -> None:
    watch = make_watch(ada, [])
    now = timezone.now()
    was_down(watch, now - 900 * DAY, now)
    assert len(downtimes(watch)) in (92, 93)
    DailyDowntime.objects.create(watch=watch, day=(now - 200 * DAY).date(), seconds=1)
    tasks.prune()
    assert min(downtimes(watch)) >= str((now - 93 * DAY).date())


def test_uptime_counts_what_is_recorded_and_what_lasts_since_the_watch_exists(ada: User) -> None:
    now = datetime(2026, 6, 10, 12, 0, tzinfo=UTC)
    watch = make_watch(ada, [], state="down", state_since=now - HOUR)
    Watch.objects.filter(id=watch.id).update(created_at=now - 10 * DAY)
    DailyDowntime.objects.create(watch=watch, day="2026-06-08", seconds=60)
    [shown] = status.read(make_page(ada, watch), now)["watches"]
    assert [one.level for one in shown.days] == ["none"] * 79 + ["up"] * 8 + ["short", "up", "short"]
    assert [seconds.total_seconds() for _, seconds in shown.down_days] == [3600, 60]
    assert shown.uptime == int((1 - 3660 / (10 * 86_400)) * 10_000) / 100


def test_its_feed_has_incidents_and_changes_of_its_watches(client: Client, ada: User) -> None:
    shop, other = make_watch(ada, [], name="Shop"), make_watch(ada, [], name="Other")
    page = make_page(ada, shop)
    page.incidents.create(title="Slow & late", text="We are on it.")
    for watch in (shop, other):
        ping(watch, "fail", output="secret")
        ping(watch)
    notices.record_due()
    answer = client.get(f"{URL}feed")
    assert answer["Content-Type"].startswith("application/atom+xml")
    root = ElementTree.fromstring(answer.content)  # noqa: S314 - our own
    titles = {one.text for one in root.findall("{*}entry/{*}title")}
    assert titles == {"Slow & late", "Shop is down", "Shop works again"}
    assert "secret" not in answer.content.decode()


def test_its_feed_is_xml_whatever_rows_hold_and_keeps_plain_text(client: Client, ada: User) -> None:
    page = make_page(ada, make_watch(ada, [], name="a\x01b\ufffe"), intro="T\x01\uffff")
    ping(Watch.objects.get(), "fail")
    notices.record_due()
    page.incidents.create(title="T\x01T", text="<db1> & \x0b")
    root = ElementTree.fromstring(client.get(f"{URL}feed").content)  # noqa: S314 - our own
    assert {one.text for one in root.findall("{*}entry/{*}title")} == {"TT", "ab is down"}
    summary = root.find("{*}entry/{*}summary")
    assert summary is not None and summary.get("type") == "html"
    assert "&lt;db1&gt; &amp;" in str(summary.text)


@pytest.mark.parametrize("typed", ["T\x01T", "T\ufffe"])
def test_characters_that_no_feed_can_hold_are_refused(browser: Client, ada: User, typed: str) -> None:
    refused = browser.post("/watches/pages/new/", {"title": typed, "slug": "ours", "intro": typed})
    assert refused.context["form"].errors.keys() == {"title", "intro"}
    sent = {"page": str(make_page(ada).id), "title": typed, "text": typed}
    assert browser.post("/watches/pages/incidents/new/", sent).context["form"].errors.keys() == {"title", "text"}


@pytest.mark.parametrize("typed", ["T\nT", "T\u202eT", "\u200b"])
def test_a_title_is_a_line_that_can_be_seen(browser: Client, ada: User, typed: str) -> None:
    refused = browser.post("/watches/pages/new/", {"title": typed, "slug": "ours", "intro": typed})
    assert refused.context["form"].errors.keys() == {"title"}
    sent = {"page": str(make_page(ada).id), "title": typed, "text": typed}
    assert browser.post("/watches/pages/incidents/new/", sent).context["form"].errors.keys() == {"title"}


def test_more_watches_than_fit_are_refused_in_words_of_watches(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "MOST_WATCHES", 1)
    watches = [make_watch(ada, []).pk for _ in range(2)]
    form = StatusPageForm({"title": "T" * 999, "slug": "ours", "watches": watches}, ada)
    assert form.errors["watches"] == ["Choose at most 1."]
    assert form.errors["title"] == ["This is 999 characters long; at most 80 fit."]


def test_what_was_deleted_while_its_form_was_checked_does_not_come_back(ada: User) -> None:
    page = make_page(ada)
    incident = PublicIncident.objects.create(page=page, title="Payments are slow")
    of_page = StatusPageForm({"title": "Other", "slug": "other"}, ada, page)
    of_incident = PublicIncidentForm({"title": "Payments are slow", "text": "Again."}, ada, incident)
    assert of_page.is_valid() and of_incident.is_valid()
    StatusPage.objects.all().delete()
    for form in (of_page, of_incident):
        with pytest.raises(Http404):
            form.save()
    assert not StatusPage.objects.exists() and not PublicIncident.objects.exists()


def test_its_uptime_says_over_how_long_and_its_address_ignores_case(client: Client, ada: User) -> None:
    old, young = make_watch(ada, []), make_watch(ada, [])
    now = timezone.now()
    Watch.objects.filter(id=old.id).update(state="up", created_at=now - 200 * DAY)
    Watch.objects.filter(id=young.id).update(state="up", created_at=now - timedelta(minutes=9, seconds=5))
    make_page(ada, old, young, make_watch(ada, []))
    text = client.get("/status/OURS/").content.decode()
    assert text.count("It waits for its first ping.") == 2  # for eyes and for ears
    assert text.count("% without downtime") == 4
    assert "100.0 % without downtime in 90 d<" in text and "100.0 % without downtime in 9 min" in text


def test_its_owner_makes_edits_and_deletes_it(browser: Client, client: Client, ada: User) -> None:
    watch, strange = make_watch(ada, [], name="Shop"), make_watch(make_user(), [])
    assert "No status page yet" in browser.get("/watches/pages/").content.decode()
    typed = {"title": "Our services", "slug": "Ours", "watches": [str(watch.id)], "enabled": "on"}
    made = browser.post("/watches/pages/new/", typed)
    assert "Shop" in client.get(URL).content.decode()
    assert "taken" in browser.post("/watches/pages/new/", typed).content.decode()
    refused = browser.post("/watches/pages/new/", typed | {"slug": "a b", "title": "", "watches": [str(strange.id)]})
    assert refused.context["form"].errors.keys() == {"title", "slug", "watches"}
    browser.post(made["Location"], typed | {"title": "New name"})
    assert "New name" in client.get(URL).content.decode()
    browser.post(made["Location"], {"title": "New name", "slug": "ours"})
    assert client.get(URL).status_code == 404
    assert "You cannot undo this" in browser.get(f"{made['Location']}delete/").content.decode()
    browser.post(f"{made['Location']}delete/")
    assert not StatusPage.objects.exists()


def test_who_has_no_watch_yet_is_led_to_making_one(browser: Client) -> None:
    shown = browser.get("/watches/pages/new/").content.decode()
    assert "No watches yet" in shown and 'href="/watches/new/"' in shown


def test_an_incident_is_published_and_ended_in_its_owners_words(browser: Client, client: Client, ada: User) -> None:
    assert browser.get("/watches/pages/incidents/new/")["Location"] == "/watches/pages/new/"
    page, strange = make_page(ada), StatusPage.objects.create(user=make_user(), title="Strange")
    run = Run.objects.create(
        user=ada, flow="incident", key="db", correlation_id=page.id, state={"title": "Inner words", "summary": "x"}
    )
    new = f"/watches/pages/incidents/new/?run={run.id}"
    assert "Inner words" in browser.get(new).content.decode()
    assert browser.post(new, {"page": str(strange.id), "title": "Payments"}).context["form"].errors.keys() == {"page"}
    browser.post(new, {"page": str(page.id), "title": "Payments are slow", "text": "We are on it."})
    incident = PublicIncident.objects.get()
    assert (incident.began_at, incident.ended_at) == (run.created_at, None)
    text = client.get(URL).content.decode()
    assert "Payments are slow" in text
    assert "Inner" not in text
    edit = f"/watches/pages/incidents/{incident.id}/"
    browser.post(edit, {"title": "Payments were slow", "is_over": "on"})
    assert "Past incidents" in client.get(URL).content.decode()
    shown = browser.get(edit).content.decode()
    assert shown.index("<details") < shown.index('name="delete"') < shown.index("</details>")
    assert signed_in().post(edit, {"delete": ""}).status_code == 404
    browser.post(edit, {"delete": ""})
    assert not PublicIncident.objects.exists()


def test_of_two_who_choose_one_address_at_once_the_second_is_told(ada: User) -> None:
    pages = [StatusPage.objects.create(user=user, title="Mine") for user in (ada, make_user())]
    forms = [StatusPageForm({"title": "Ours", "slug": "ours"}, page.user, page) for page in pages]
    assert all(form.is_valid() for form in forms)
    assert forms[0].save() == pages[0]
    assert forms[1].save() is None
    assert forms[1].errors.keys() == {"slug"}
    assert StatusPage.objects.get(id=pages[1].id).slug != "ours"
