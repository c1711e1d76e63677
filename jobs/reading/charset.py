"""Bytes of any charset as text."""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress

import charset_normalizer

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Other codecs of Python are not charsets of pages, and some take quadratic time (punycode).
_CHARSETS = re.compile(
    r"ascii|utf-(8|16|32)(-[bl]e)?|iso8859-\d+|cp\d+|mac-\w+|koi8-\w|shift_jis\w*|euc_\w+|iso2022_\w+|gb\w+|hz|big5\w*|johab|tis-620"
)
# Names that browsers know, and Python does not; also "x-sjis" and "windows-874".
_LABELS = {"windows-31j": "cp932", "iso-8859-8-i": "iso8859-8", "gb_2312-80": "gbk", "ks_c_5601-1989": "cp949"}
# What browsers read instead (encoding.spec.whatwg.org): these hold all characters of the other, and some more.
_WIDER = {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874"}
_WIDER |= {"gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}
_BYTES = re.compile(r"utf-8|iso8859|cp[1-8]|koi8|mac")
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)
_IN_TEXT = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_READ, _SAMPLE, _ENOUGH = 200_000, 4_000, 24
# jsonb cannot hold these.
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def decode(body: bytes, content_type: str) -> str:
    """Return the text: by its byte order mark, the Content-Type header, what its beginning declares, else UTF-8.

    Bytes that are not of that charset become U+FFFD, except that what should be UTF-8 and hardly is any is what its
    beginning declares, or guessed. Valid UTF-8 is of no charset of single bytes, whatever it says: hardly any text is.
    """
    for mark, charset in _BOMS:
        if body.startswith(mark):
            return storable(body[len(mark) :].decode(charset, "replace"))
    charsets = [*_wide(body[:200]), *_declared(body[:1024], content_type), "utf-8"]
    if _BYTES.match(charsets[0]):
        with suppress(UnicodeDecodeError):
            return storable(body.decode())
    if charsets[0] != "utf-8":
        return storable(body.decode(charsets[0], "replace"))
    text = body.decode("utf-8", "replace")
    wrong = text.count("\N{REPLACEMENT CHARACTER}")
    is_damaged = b"\0" in body or wrong * 2 < len(text) - len(text.encode("ascii", "ignore"))
    others = [charset for charset in charsets if charset != "utf-8"] or [_guessed(body)]
    return storable(text if is_damaged else body.decode(others[0], "replace"))


def _declared(head: bytes, content_type: str) -> Iterator[str]:
    """The charsets known here that the header and the text name."""
    names = [match[1] for match in [_IN_HEADER.search(content_type)] if match]
    names += [match[1].decode() for match in [_IN_TEXT.search(head)] if match]
    for name in names:
        with suppress(LookupError, ValueError):
            label = re.sub(r"\Awindows-(?=[0-9]{3,4}\Z)", "cp", name.lower().removeprefix("x-"))
            charset = codecs.lookup(_LABELS.get(name.lower(), label)).name
            if _CHARSETS.fullmatch(charset) and (b"\0" in head or not charset.startswith(("utf-16", "utf-32"))):
                yield _WIDER.get(charset, charset)


def _wide(head: bytes) -> Iterator[str]:
    """UTF-16 without a mark, where every other byte is 0, as that of ASCII is; nothing for anything else."""
    for name, zeros, others in (("utf-16-le", head[1::2], head[::2]), ("utf-16-be", head[::2], head[1::2])):
        if len(head) >= 16 and zeros.count(0) * 10 > len(zeros) * 9 and not others.count(0):
            yield name


def _guessed(body: bytes) -> str:
    """By the letters beyond ASCII, if there are enough of them for a guess; else Windows-1252."""
    words = re.findall(rb"[^\x00-\x7f]*[\x80-\xff][A-Za-z\x80-\xff ]*", body[:_READ])
    sample = b" ".join(words)[:_SAMPLE]
    if len(re.findall(rb"[\x80-\xff]", sample)) < _ENOUGH:
        return "cp1252"
    best = charset_normalizer.from_bytes(sample).best()
    result = codecs.lookup(best.encoding).name if best is not None else ""
    return result if _CHARSETS.fullmatch(result) and best is not None and best.coherence > 0 else "cp1252"


def storable(text: str) -> str:
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
