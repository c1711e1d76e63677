"""Text of any charset, and of a wrong one."""

import codecs
import time

import pytest

from jobs.reading.charset import decode

GRUESSE = "Grüße €"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (GRUESSE.encode(), "text/html; charset=utf-8"),
        (GRUESSE.encode(), "text/html"),
        (GRUESSE.encode(), "text/html; charset=nonsense"),
        (GRUESSE.encode(), 'text/html; charset="UTF-8"'),
        (GRUESSE.encode("cp1252"), "text/html; charset=iso-8859-1"),
        (GRUESSE.encode("cp1252"), "text/html"),
        (GRUESSE.encode(), "text/html; charset=iso-8859-1"),
        (GRUESSE.encode("iso8859-15"), "text/xml; charset=iso-8859-15"),
        (codecs.BOM_UTF8 + GRUESSE.encode(), "text/html; charset=latin1"),
        (codecs.BOM_UTF16_LE + GRUESSE.encode("utf-16-le"), "text/html"),
        (GRUESSE.encode("utf-16-be"), "text/plain; charset=utf-16be"),
        (GRUESSE.encode(), "text/plain; charset=us-ascii"),
        (GRUESSE.encode(), "text/plain; charset=utf-16"),
        (GRUESSE.encode(), "text/plain; charset=windows-1251"),
        (GRUESSE.encode(), "text/plain; charset=windows-874"),
    ],
)
def test_text_is_decoded(body: bytes, content_type: str) -> None:
    assert decode(body, content_type) == GRUESSE


def test_what_a_page_declares_itself_counts_where_the_header_is_silent() -> None:
    page = '<?xml version="1.0" encoding="iso-8859-15"?><a>10 €</a>'
    assert decode(page.encode("iso8859-15"), "text/xml") == page
    russian = '<?xml version="1.0" encoding="windows-1251"?><a>Привет, как дела</a>'
    assert decode(russian.encode("cp1251"), "text/xml; charset=utf-8") == russian
    for charset, codec, text in (
        ("windows-874", "cp874", "ราคา"),
        ("tis-620", "cp874", "ราคา"),
        ("x-sjis", "cp932", "価格"),
        ("shift_jis", "cp932", "価格①㈱"),
        ("windows-31j", "cp932", "価格①"),
        ("gb2312", "gbk", "價格"),
        ("euc-kr", "cp949", "똠방각하"),
        ("iso-8859-9", "cp1254", "fiyat “10” – €"),
        ("iso-8859-8-i", "iso8859-8", "מחיר"),
    ):
        page = f'<meta charset="{charset}">{text}'
        assert decode(page.encode(codec), "text/html") == page
    utf16 = '<meta charset="utf-16">ü'
    assert decode(utf16.encode(), "text/html") == utf16


@pytest.mark.parametrize("charset", ["punycode", "idna", "unicode_escape", "rot13", "zip", "utf-7", "undefined"])
def test_codecs_that_are_no_charsets_are_not_used(charset: str) -> None:
    began = time.process_time()
    text = decode(b"a-" * 1_000_000, f"text/html; charset={charset}")
    assert (text[:2], len(text)) == ("a-", 2_000_000)
    assert time.process_time() - began < 2


def test_a_wrong_charset_and_what_a_database_cannot_hold_become_replacement_characters() -> None:
    assert decode(b"a\xff\x00b", "text/html; charset=utf-8") == "a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}b"


def test_what_should_be_utf_8_and_hardly_is_any_is_guessed() -> None:
    header = "text/html; charset=utf-8"
    assert decode("Größe für Käufer".encode("latin-1"), header) == "Größe für Käufer"
    assert decode("Größe für Käufer".encode() + b"\xe4", header) == "Größe für Käufer\N{REPLACEMENT CHARACTER}"
    assert (
        decode(b"<?xml version='1.0' encoding='utf-8'?><a>t\xf6", "") == "<?xml version='1.0' encoding='utf-8'?><a>tö"
    )
