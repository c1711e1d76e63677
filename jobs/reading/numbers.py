"""The number in a text from a page: "1.234,56 €", "USD 1,234.56", "−3 %". Pure.

- It is the first number in the text. Currencies, units and signs of percent are ignored.
- A minus counts at the beginning of the text, or where it touches the digits or their currency ("−€3"), not in "A-3".
- Spaces and apostrophes only group digits: "1 234", "1’234".
- Where both "." and "," occur, the last one is the decimal mark. One that occurs several times only groups.
- A lone "." is the decimal mark. So is a lone ",", unless it looks like a thousand: "1,234", not "0,234" or "1,23".
- A dash for the fraction, "1.299,-", makes its mark the decimal mark. Digits of other scripts count, with their marks.
- Digits that are grouped in another way are no number: "1.2.3", "22.11.2026".
"""

import re
import unicodedata
from decimal import Decimal

_LONGEST = 40
_NUMBER = re.compile(
    r"(?P<minus>(?:\A\s*[-\u2212\u2013]\s*|(?<![\w.,])[-\u2212\u2013])(?:[^\w\s.,]\s?)?)?"
    r"(?P<digits>[0-9]{1,3}(?:[ '\u2019\u00a0\u202f\u2009][0-9]{3})+(?![0-9])(?:[.,][0-9]+)?"
    r"|[0-9]+(?:[.,][0-9]+)*|(?<![\w.,])[.,][0-9]+)"
    r"(?P<exponent>[eE][+-]?[0-9]{1,2}(?!\w))?"
)
_OTHERS = {"\u066b": ".", "\u066c": "\u2019", "\uff0e": ".", "\uff0c": ","}
_OTHERS |= dict.fromkeys("\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u2060", "\u2009")
# "1.299,-": a dash stands for the fraction.
_DASHED = re.compile(r"(?<=[0-9])([.,])\s?[-\u2012\u2013\u2014]{1,2}(?![0-9\w])")
_DOUBTFUL = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
_MARKS_OF_LANGUAGES = dict.fromkeys(
    ["de", "es", "fr", "it", "nl", "pt", "pl", "da", "nb", "no", "sv", "fi", "cs", "tr", "ru"], ","
)
_MARKS_OF_LANGUAGES |= dict.fromkeys(["en", "ja", "zh", "ko", "he", "th"], ".")
_MARKS_OF_UNITS = dict.fromkeys(["$", "£", "¥", "USD", "GBP", "JPY"], ".")
_MARKS_OF_UNITS |= dict.fromkeys(["kr", "zł", "PLN", "SEK", "NOK", "DKK", "₽", "TRY", "₺"], ",")
_SPACES = re.compile("[ '\u2019\u00a0\u202f\u2009]")
_LIKE_A_THOUSAND = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")


def number(text: str, mark: str = "") -> Decimal | None:
    """Return the number; None if the text begins with none. `mark`: the decimal mark "." or ",", "" to guess it."""
    text = _DASHED.sub(r"\g<1>00", _in_ascii(text))
    found = _NUMBER.search(text)
    if found is None or len(found["digits"]) > _LONGEST:
        return None
    plain = _plain(found["digits"], mark)
    if plain is None:
        return None
    return Decimal(f"{'-' if found['minus'] else ''}{plain}{found['exponent'] or ''}")


def mark_of(text: str, language: str) -> str:
    """The decimal mark of a number whose only mark may group thousands: by its currency, or the page's language."""
    found = _NUMBER.search(_DASHED.sub(r"\g<1>00", _in_ascii(text)))
    if found is None or not _DOUBTFUL.fullmatch(found["digits"]):
        return ""
    by_unit = (mark for unit, mark in _MARKS_OF_UNITS.items() if unit in text)
    return next(by_unit, _MARKS_OF_LANGUAGES.get(language, ""))


def _in_ascii(text: str) -> str:
    """Digits of other scripts, and the spaces and marks between digits, as ASCII has them."""
    if text.isascii():
        return text
    return "".join(
        str(unicodedata.decimal(letter)) if letter > "\x7f" and letter.isdecimal() else _OTHERS.get(letter, letter)
        for letter in text
    )


def shown(value: Decimal) -> str:
    """The number in digits, without zeros at its end: "1234.5"."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(digits: str, mark: str) -> str | None:
    """The digits with nothing but a decimal point in them; None if they are not grouped as a number's are."""
    joined = _SPACES.sub("", digits)
    mark = _decimal_mark(joined, mark, spaced=joined != digits)
    whole, point, fraction = joined.rpartition(mark) if mark and mark in joined else (joined, "", "")
    if re.search("[.,]", whole):
        group = {".": ",", ",": "."}.get(mark) or ("," if "," in whole else ".")
        if not re.fullmatch(rf"[0-9]{{1,3}}([{group}][0-9]{{2,3}})*[{group}][0-9]{{3}}", whole):
            return None
        whole = whole.replace(group, "")
    return None if point and not fraction.isdigit() else f"{whole or '0'}.{fraction or '0'}"


def _decimal_mark(digits: str, known: str, spaced: bool) -> str:
    """The mark before the fraction; "" where there is none."""
    marks = re.findall("[.,]", digits)
    if known or not marks:
        return known
    if len(marks) > 1:
        return marks[-1] if marks[-1] != marks[0] else ""
    is_group = not spaced and _LIKE_A_THOUSAND.fullmatch(digits)
    return "" if is_group else marks[0]
