"""`manage.py deadletters`: clear words, and exit codes that scripts can rely on."""

from __future__ import annotations

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from notifications.models import Delivery
from tests.make import NOON, make_channel, make_delivery, make_user
from work.models import Intervention

pytestmark = pytest.mark.django_db


@pytest.fixture
def dead() -> list[Delivery]:
    mail, hook = make_channel(make_user(), "email"), make_channel(make_user(), "webhook")
    for channel, reason in ((mail, "No such box."), (mail, "No such box."), (hook, "It was the cat.")):
        make_delivery(channel, state="dead", reason=reason)
    return list(Delivery.objects.order_by("id"))


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("deadletters", *arguments, stdout=out)
    return out.getvalue()


def states() -> list[str]:
    return list(Delivery.objects.order_by("id").values_list("state", flat=True))


def test_list_shows_each_cause_once_with_its_count(dead: list[Delivery]) -> None:
    lines = run("list").splitlines()
    assert len(lines) == 2
    assert any(line.split()[:2] == [dead[0].cause, "2"] and "No such box." in line for line in lines)
    assert "webhook, dead: It was the cat." in run("list", "--provider", "webhook")
    assert [line[:36] for line in run("list", "--cause", dead[2].cause).splitlines()] == [str(dead[2].id)]
    assert run("list", "--since", "1h") == "No dead letters.\n"


def test_replay_of_a_cause_at_a_rate_says_how_many(dead: list[Delivery]) -> None:
    assert run("replay", "--cause", dead[0].cause, "--rate", "30", "--yes") == "2 will be replayed, 30 a minute.\n"
    assert states() == ["pending", "pending", "dead"]
    kept = Intervention.objects.get()
    assert (kept.by, kept.per_minute, kept.count) == (None, 30, 2)
    assert kept.who.endswith("at the command line")


def test_a_letter_that_is_named_is_sent_though_it_is_stale_and_many_are_not(dead: list[Delivery]) -> None:
    Delivery.objects.filter(provider="email").update(expires_at=NOON)
    assert run("replay", "--yes") == "1 will be replayed. 2 stale, left as they are.\n"
    with pytest.raises(CommandError, match=r"Nothing was done.* 2 stale"):
        run("replay", "--yes")
    assert run("replay", "--id", str(dead[0].id), "--yes") == "1 will be replayed.\n"
    assert states() == ["pending", "dead", "pending"]


def test_discard_gives_up_what_was_meant_with_its_reason(dead: list[Delivery]) -> None:
    assert run("discard", "--provider", "webhook", "--reason", "The cat.", "--yes") == "1 discarded.\n"
    assert states() == ["dead", "dead", "cancelled"]
    assert Delivery.objects.get(id=dead[2].id).reason == "Discarded: The cat."


def test_since_takes_an_age_or_a_day(dead: list[Delivery]) -> None:
    Delivery.objects.filter(id=dead[2].id).update(settled_at=timezone.now())
    assert run("discard", "--since", "24h", "--reason", "x", "--yes") == "1 discarded.\n"
    assert run("discard", "--since", "2026-06-01", "--reason", "x", "--yes") == "2 discarded.\n"


def test_nobody_to_ask_means_nothing_is_done_without_yes(dead: list[Delivery], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("y\n"))
    with pytest.raises(CommandError, match=r"3 match: every dead letter.*--yes"):
        run("replay")
    assert states() == ["dead"] * 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "--provider", "pigeon", "--yes"], "No dead letters match: of pigeon"),
        (["replay", "--id", str(uuid4()), "--yes"], "No dead letters match"),
        (["discard", "--reason", " ", "--yes"], "Say why"),
        (["discard", "--yes"], "--reason"),
        (["replay", "--rate", "0"], "is not a rate"),
        (["replay", "--rate", "fast"], "is not a rate"),
        (["list", "--since", "yesterday"], "is not an instant"),
        (["list", "--since", "2026-13-01"], "is not an instant"),
        (["replay", "--max-age", "2 days"], "is not a length of time"),
        (["list", "--id", "7"], "invalid UUID"),
        ([], "verb"),
    ],
)
def test_what_is_written_wrongly_is_said_and_does_nothing(
    dead: list[Delivery], arguments: list[str], words: str
) -> None:
    with pytest.raises(CommandError, match=words):
        run(*arguments)
    assert states() == ["dead"] * 3


def test_without_dead_letters_list_says_so() -> None:
    assert run("list") == "No dead letters.\n"
