"""The pages of watches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.test import Client
from pytest_django import Settings

from events.models import FlowSettings
from notifications.models import Delivery
from people.models import User
from tests.db.watches.test_pings import HOUR, ping, set_back
from tests.make import make_channel, make_user, make_watch
from watches import changes, notices
from watches.models import Ping, Watch


def typed(user: User, **changed: Any) -> dict[str, Any]:
    channel = user.channels.first() or make_channel(user)
    fields = {"name": "Backup", "kind": "since", "period_0": "1", "period_1": "86400", "grace_0": "1"}
    fields |= {"grace_1": "3600", "time_zone": "Europe/Berlin", "channels": [str(channel.id)]}
    return fields | changed


def test_an_empty_list_says_what_a_watch_is(browser: Client) -> None:
    assert "Create your first watch" in browser.get("/watches/").content.decode()


def test_one_is_created_pinged_and_shown(browser: Client, ada: User) -> None:
    answer = browser.post("/watches/new/", typed(ada, tags="db, night", longest_run_0="2", longest_run_1="60"))
    watch = Watch.objects.get()
    assert answer["Location"] == f"/watches/{watch.id}/"
    assert (watch.period, watch.grace, watch.longest_run, watch.tags) == (86_400, 3600, 120, ["db", "night"])
    ping(watch, "fail", exit_code=7, output="<b>no space left</b>", size=200_000)
    notices.record_due()
    page = browser.get(answer["Location"]).content.decode()
    for text in (
        watch.url,
        "curl",
        "exit code 7",
        "&lt;b&gt;no space left",
        "The first 100,000 bytes are stored",
        "failed",
    ):
        assert text in page
    assert "Backup" in browser.get("/watches/").content.decode()
    newest = watch.pings.get()
    text = browser.get(f"/watches/{watch.id}/pings/{newest.id}")
    assert (text.content, text["Content-Type"]) == (b"<b>no space left</b>", "text/plain; charset=utf-8")


def test_one_has_a_slug_words_and_a_lock(browser: Client, ada: User) -> None:
    more = {
        "slug": "backup",
        "lock": "db",
        "longest_run_0": "2",
        "longest_run_1": "60",
        "failure_words": "ERROR, no space",
    }
    answer = browser.post("/watches/new/", typed(ada, **more))
    watch = Watch.objects.get()
    assert (watch.slug, watch.lock, watch.failure_words) == ("backup", "db", ["ERROR", "no space"])
    before = watch.slug_url
    assert before in browser.get(answer["Location"]).content.decode()
    assert "ERROR, no space" in browser.get(f"{answer['Location']}edit/").content.decode()
    again = browser.post("/watches/new/", typed(ada, **more))
    assert again.context["form"].errors.keys() == {"slug"}
    browser.post("/watches/key/renew/")
    assert before not in browser.get(answer["Location"]).content.decode()


def test_one_with_a_rule_is_edited(browser: Client, ada: User) -> None:
    browser.post("/watches/new/", typed(ada, kind="daily", time="02:00"))
    watch = Watch.objects.get()
    assert (watch.kind, watch.rule, watch.period) == ("daily", {"time": "02:00"}, None)
    assert "02:00" in browser.get(f"/watches/{watch.id}/edit/").content.decode()
    ping(watch)
    deadline = watch.deadline
    answer = browser.post(
        f"/watches/{watch.id}/edit/", typed(ada, kind="daily", time="02:00", grace_0="2", version="1")
    )
    assert answer.status_code == 302, answer.content.decode()
    watch.refresh_from_db()
    assert deadline is not None
    assert (watch.deadline, watch.version) == (deadline + HOUR, 2)
    old = browser.post(f"/watches/{watch.id}/edit/", typed(ada, name="Other", version="1"))
    assert old.status_code == 409
    assert "Other" in old.content.decode()


def test_what_is_missing_is_named(browser: Client, ada: User, settings: Settings) -> None:
    def errors(**changed: Any) -> dict[str, Any]:
        found: dict[str, Any] = browser.post("/watches/new/", typed(ada, **changed)).context["form"].errors
        return dict(found)

    assert errors(period_0="").keys() == {"period"}
    assert errors(grace_0="").keys() == {"grace"}
    assert "empty" not in errors(grace_0="x")["grace"][0] and "empty" in errors(longest_run_0="x")["longest_run"][0]
    assert errors(name="", kind="cron", expression="x").keys() == {"name", "expression"}
    assert errors(opens_incident="on").keys() == {"opens_incident"}
    FlowSettings.objects.create(user=ada, flow="incident", enabled=True)
    settings.MOST_WATCHES = 0
    assert errors(opens_incident="on").keys() == {"__all__"}
    assert not Watch.objects.exists()


def test_it_is_paused_until_resumed_or_until_the_next_ping(browser: Client, ada: User) -> None:
    watch = make_watch(ada)
    ping(watch)
    browser.post(f"/watches/{watch.id}/pause/")
    ping(watch)
    assert (watch.state, watch.deadline) == ("paused", None)
    browser.post(f"/watches/{watch.id}/resume/")
    watch.refresh_from_db()
    assert watch.state == "up"
    assert watch.deadline is not None
    browser.post(f"/watches/{watch.id}/pause/", {"until_ping": ""})
    ping(watch)
    assert watch.state == "up"


def test_deleting_cancels_what_is_not_sent_and_can_be_undone(browser: Client, ada: User) -> None:
    watch = make_watch(ada, [make_channel(ada, "email")])
    ping(watch)
    set_back(watch, 2 * HOUR)
    notices.record_due()
    answer = browser.post(f"/watches/{watch.id}/delete/")
    assert "Undo" in browser.get(answer["Location"]).content.decode()
    assert set(Delivery.objects.values_list("state", "reason_code")) == {("cancelled", "watch-withdrawn")}
    assert browser.get(f"/watches/{watch.id}/").status_code == 404
    browser.post(f"/watches/{watch.id}/restore/")
    assert browser.get(f"/watches/{watch.id}/").status_code == 200
    ping(watch)
    changes.delete(watch.id)
    assert changes.restore(watch.id).deadline is not None  # as if a ping had come now


def test_nothing_is_restored_past_the_limit(browser: Client, ada: User, settings: Settings) -> None:
    settings.MOST_WATCHES = 1
    gone = make_watch(ada, [], deleted_at="2026-06-01T12:00Z")
    make_watch(ada, [])
    page = browser.post(f"/watches/{gone.id}/restore/", follow=True).content.decode()
    assert changes.limit_reached() in page
    assert Watch.objects.for_user(ada).count() == 1


def test_a_grace_that_is_edited_after_a_long_silence_is_missed_at_the_next_tick(ada: User) -> None:
    watch = make_watch(ada, [], grace=7200)
    ping(watch)
    set_back(watch, timedelta(hours=2))
    assert notices.record_due() == 0
    watch.grace = 300
    changes.change(watch, [])
    assert notices.record_due() == 1


def test_somebody_elses_is_not_found(browser: Client) -> None:
    watch = make_watch(make_user(), [])
    newest = ping(watch)
    for path in ("", "edit/", f"pings/{newest.id}"):
        assert browser.get(f"/watches/{watch.id}/{path}").status_code == 404
    for path in ("pause/", "resume/", "delete/", "restore/"):
        assert browser.post(f"/watches/{watch.id}/{path}").status_code == 404
    assert Ping.objects.count() == 1
