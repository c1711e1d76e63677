"""The text of a ping by mail."""

from __future__ import annotations

import base64
import quopri
from uuid import UUID

import pytest

from watches import mail

TOKEN = UUID(int=1)


def test_a_subject_may_be_in_letters_already() -> None:
    assert mail._text("Subject: Größe\r\n\r\nDone.".encode(), TOKEN).startswith("Größe\n\n")


WORDS = "FEHLGESCHLAGEN für heute"
ENCODED = {"base64": base64.encodebytes, "quoted-printable": quopri.encodestring, "8bit": bytes}


@pytest.mark.parametrize("encoding", ENCODED)
def test_words_are_found_in_texts_as_mail_programs_encode_them(encoding: str) -> None:
    text = f"Backup of the {'very ' * 11}large disk: {WORDS}".encode()
    mime = b"MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n"
    head = f"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: {encoding}\r\n\r\n".encode()
    file = b"\r\n--x\r\nContent-Type: %b\r\nContent-Transfer-Encoding: base64\r\n\r\nRklMRQ==\r\n"
    files = file % b"application/zip" + file % b"text/plain\r\nContent-Disposition: attachment; filename=log.txt"
    shown = mail._text(mime + head + ENCODED[encoding](text) + files + b"--x--\r\n", TOKEN)
    assert WORDS in shown
    assert "FILE" not in shown


@pytest.mark.parametrize("charset", ["iso-8859-1", "windows-1252", "utf-16"])
@pytest.mark.parametrize("subtype", ["plain", "html"])
def test_words_are_found_in_texts_of_other_charsets_and_of_html(subtype: str, charset: str) -> None:
    text = {"plain": WORDS, "html": "<p>FEHL<b>GESCHLAGEN</b>\r\nf&uuml;r <i>heute</i></p>"}[subtype]
    raw = f"Content-Type: text/{subtype}; charset={charset}\r\n\r\n".encode() + text.encode(charset)
    assert WORDS in mail._text(raw, TOKEN)


def test_words_are_found_at_the_end_of_a_long_text_of_html() -> None:
    raw = b"Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    text = f"<table>{'<tr><td>OK</td></tr>' * 2_000}</table><p>{WORDS}</p>"
    assert WORDS in mail._text(raw + base64.encodebytes(text.encode()), TOKEN)


def test_words_are_found_where_a_charset_switches_within_ascii() -> None:
    raw = b"Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n" + "失敗".encode("iso-2022-jp")
    assert "失敗" in mail._text(raw, TOKEN)


def test_a_mail_whose_parts_are_nested_without_end_is_stored_as_it_came() -> None:
    raw = b"Content-Transfer-Encoding: base64\r\n" + b"".join(
        f"Content-Type: multipart/mixed; boundary=x{n}\r\n\r\n--x{n}\r\n".encode() for n in range(2_000)
    )
    assert mail._text(raw, TOKEN).strip().startswith("Content-Transfer-Encoding")


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
    assert mail._text(b"Subject: " + subject + b"\r\n\r\nDone.", TOKEN).partition("\n")[0] == shown
