"""The text of a ping by mail."""

from __future__ import annotations

import pytest

from watches import mail


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        (b"=?utf-8?q?Backup_f=C3=BCr_heute?=", "Backup für heute"),
        (b"=?utf-8?b?abcde?=", "=?utf-8?b?abcde?="),  # no base64
        (b"=?nope?q?a?=", "=?nope?q?a?="),
        (b"=?utf-8?q?=ff?=", "=?utf-8?q?=ff?="),
        (b"=?utf-7?q?+2AA-?=", "?"),  # half of a surrogate pair
    ],
)
def test_a_subject_that_cannot_be_read_loses_no_ping(subject: bytes, shown: str) -> None:
    assert mail._text(b"Subject: " + subject + b"\r\n\r\nDone.").partition("\n")[0] == shown
