"""What looks like a secret does not reach the logs, whoever writes it."""

from __future__ import annotations

import json
import logging
import re
import sys
from pathlib import Path

import pytest
from django.db import IntegrityError, connection

from common.texts.log_line import LogLine
from config import logs
from tests.db.every_url import every_url

PLANTED = "pLaNtEd0123456789pLaNtEd0123456789"


@pytest.mark.parametrize(
    "line",
    [
        f"smtp+tls://carillon:{PLANTED}@mail.example.org:587 refused",
        f"redis://:{PLANTED}@127.0.0.1:6379/0",
        f"POST https://example.org/hook?token={PLANTED}&x=1 failed",
        f'"GET /hook?a=1&key={PLANTED} HTTP/1.1" 404',
        f"{{'Authorization': 'Bearer {PLANTED}'}}",
        f"authorization: Basic {PLANTED}==",
        f"signed with whsec_{PLANTED}=",
        f"GitHub refused ghp_{PLANTED}",
        f"GitHub refused github_pat_{PLANTED}",
        f"https://api.telegram.org/bot123456:{PLANTED}/sendMessage",
        f"token 123456:{PLANTED} is wrong",
        f"https://discord.com/api/webhooks/1234/{PLANTED}",
        f"https://hooks.slack.com/services/T000/B000/{PLANTED}",
        f"/account/password/reset/key/3-{PLANTED}/",
        f"/account/confirm-email/MQ:1w:{PLANTED}/",
        f"/unsubscribe/eyJ:{PLANTED}/",
        f"POST /in/{PLANTED} 202",
        f"GET /calendar/{PLANTED}.ics 200",
        f"GET /ping/{PLANTED}/fail 200",
        f"GET /badge/{PLANTED}.svg 200",
        f"GET /status/{PLANTED}/feed 200",
        f"Not Found: /api/v3/checks/{PLANTED}/pings/",
    ],
)
def test_a_secret_is_blotted_out_and_the_rest_stays(line: str) -> None:
    redacted = logs.redact(line)
    assert PLANTED not in redacted
    assert "•••" in redacted


def test_the_secrets_of_addresses_are_in_no_log_of_carillon_or_nginx() -> None:
    """Of each URL whose parameter is a permission, and of the two that are not Django's or take an id."""
    site = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text()
    blotted = re.compile(re.findall(r"~(\^\S+) /\$carillon_place/-;", site)[0].replace("(?<", "(?P<"))
    secrets = {"token", "key", "secret"}
    urls = [url for url in every_url() if secrets & set(url.takes)]
    paths = [url.path(dict.fromkeys(url.takes, PLANTED)) for url in urls]
    assert len(paths) > 12
    for path in [*paths, f"/ping/{PLANTED}/start", f"/api/v3/checks/{PLANTED}/pause"]:
        assert PLANTED not in logs.redact(f'127.0.0.1:5000 - "GET {path} HTTP/1.1" 200'), path
        assert blotted.match(path), path


@pytest.mark.parametrize(
    "line",
    [
        "Delivery 01890a5d-ac96-774b-bcce-b302099a8057 was taken over while it was being sent",
        '127.0.0.1:5000 - "GET /reminders/new/ HTTP/1.1" 200',
        "2026-06-01 12:00:00,123 INFO celery.beat: Scheduler: Sending due task rescue",
        "celery@host:4242 ready.",
    ],
)
def test_an_ordinary_line_stays_as_it_is(line: str) -> None:
    assert logs.redact(line) == line


def test_what_the_database_quotes_of_a_failed_statement_is_not_logged(db: None) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE words (word text UNIQUE)")
            cursor.execute("INSERT INTO words VALUES (%(word)s), (%(word)s)", {"word": f"{PLANTED}\n{PLANTED}"})
    except IntegrityError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    written = logs.RedactingFormatter("%(message)s").format(record)
    assert "words_word_key" in written and written.count("DETAIL:") == 2
    assert PLANTED not in written


def test_the_trace_of_an_error_is_redacted_too() -> None:
    try:
        raise OSError(f"cannot reach https://example.org/?token={PLANTED}")
    except OSError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed", None, sys.exc_info())
    written = logs.RedactingFormatter("%(message)s").format(record)
    assert "Traceback" in written and PLANTED not in written


def test_nobody_writes_a_line_of_their_own_into_the_log() -> None:
    said = "wrong\n2026-06-01 ERROR forged\r\x1b[2J\u2028\u202e"
    record = logging.LogRecord("x", logging.WARNING, __file__, 1, "Refused: %s", (said,), None)
    written = logs.RedactingFormatter("%(message)s").format(record)
    assert written == r"Refused: wrong\n2026-06-01 ERROR forged\r\x1b[2J\u2028\u202e"


def test_what_a_message_quotes_of_a_statement_is_removed_before_its_lines_are_joined() -> None:
    record = logging.LogRecord(
        "x", logging.ERROR, __file__, 1, f"failed\nDETAIL:  Key ({PLANTED})\nHINT: x", None, None
    )
    assert PLANTED not in logs.RedactingFormatter("%(message)s").format(record)


def test_a_producer_hides_nothing_of_a_line_by_the_words_of_the_database() -> None:
    line = LogLine("events.handle: handled", source="DETAIL: x\nDETAIL: y", outcome="handled", id="7")
    record = logging.LogRecord("x", logging.INFO, __file__, 1, line, None, None)
    assert json.loads(logs.RedactingFormatter("%(message)s").format(record)) == line
    written = json.loads(logs.JSONFormatter().format(record))
    assert (written["source"].startswith("DETAIL: x"), written["outcome"], written["id"]) == (True, "handled", "7")


def test_the_log_tells_the_time_in_utc() -> None:
    record = logging.LogRecord("x", logging.INFO, __file__, 1, "said", None, None)
    record.created, record.msecs = 1_780_315_200.0, 7
    assert logs.RedactingFormatter("%(asctime)s %(message)s").format(record) == "2026-06-01T12:00:00.007Z said"


def test_a_line_of_json_has_the_message_with_its_traceback_and_no_secret() -> None:
    try:
        raise ValueError(f"Authorization: Bearer {PLANTED}")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "failed\nhere", None, sys.exc_info())
    line = logs.JSONFormatter().format(record)
    assert "\n" not in line and PLANTED not in line
    fields = json.loads(line)
    assert (fields["level"], fields["logger"]) == ("ERROR", "x")
    assert fields["message"].startswith("failed\\nhere\nTraceback")
