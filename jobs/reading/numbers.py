"""The number in a text from a page, with its unit: "1.234,56 €", "USD 1,234.56", "−3 %". Pure.

- It is the first number beside a currency, else the first in the text that is not part of a name: not in "PM2.5: 12".
  A former price ("instead of 19.99 €"), one of a unit ("1 kg = 3.99 €") and what equals another number
  ("1 EUR = 1.09 USD") are passed over.
- A minus counts at the beginning of the text, or where it touches the digits or their currency ("−€3"), not in "A-3".
- Spaces and apostrophes only group digits: "1 234", "1’234". So does a mark that occurs several times.
- Where both "." and "," occur, the last one is the decimal mark. A dash for the fraction, "1.299,-", marks it too.
- A lone mark before three digits may be either: the currency or the page's language decide it. If they do not, a price
  is in thousands, "1.299 €", other numbers are so by a comma, and the other reading is told too.
- Digits of other scripts count, with their marks; "1.2k" is 1,200. Digits grouped in another way are not a number.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

_LONGEST, _SEARCHED = 40, 20_000
_CODES = (
    "EUR|USD|GBP|CHF|JPY|CNY|INR|PLN|CZK|RUB|TRY|KRW|ILS|VND|THB|UAH|NGN|PHP|KZT|HUF|RON|BGN|BRL|AUD|CAD|NZD|HKD|SGD|TWD|"
    "IDR|MYR|SEK|NOK|DKK|ISK|MXN|ARS|CLP|COP|PEN|ZAR|AED|SAR|QAR|KWD|BHD|OMR|JOD|TND|EGP|MAD|PKR|BDT|LKR|RSD|BTC|ETH"
)
_CURRENCIES = {
    "€": "EUR", "£": "GBP", "₹": "INR", "Rs": "INR", "zł": "PLN", "Kč": "CZK", "₽": "RUB", "руб": "RUB", "₺": "TRY",
    "TL": "TRY", "₩": "KRW", "₪": "ILS", "₫": "VND", "đ": "VND", "฿": "THB", "₴": "UAH", "грн": "UAH", "₦": "NGN",
    "₱": "PHP", "₸": "KZT", "тг": "KZT", "Ft": "HUF", "lei": "RON", "лв": "BGN", "R$": "BRL", "US$": "USD", "A$": "AUD",
    "C$": "CAD", "NZ$": "NZD", "HK$": "HKD", "S$": "SGD", "NT$": "TWD", "Fr.": "CHF", "円": "JPY", "元": "CNY",
    "원": "KRW", "Rp": "IDR", "RM": "MYR", "৳": "BDT", "so'm": "UZS", "د.إ": "AED", "ر.س": "SAR", "ریال": "IRR",
    "تومان": "IRT", "eur": "EUR", "usd": "USD", "gbp": "GBP", "chf": "CHF", "kr": "kr", "$": "$", "¥": "¥",
    "S/.": "PEN", "S/": "PEN",
}  # fmt: skip
_NAMES = "|".join([*(re.escape(name) for name in sorted(_CURRENCIES, key=len, reverse=True)), _CODES])
_POWERS = [
    (int(power), f"[{word[0]}{word[0].upper()}]{word[1:]}")
    for power, *words in map(str.split, Path(__file__).with_name("powers.txt").read_text("utf-8").splitlines()[1:])
    for word in words
]
_POWER_SIGNS = {"¢": -2, "k": 3, "M": 6, "Cr": 7, "B": 9, "T": 12}
# Those that mean something else elsewhere, longer ones first.
_POWERS_OF_LANGUAGES = {
    **{language: {"mil mil\\w+": "bn", "mil": "k"} for language in ("es", "ca", "gl")},
    **{language: {"mil": "M", "bil": "trn"} for language in ("cs", "sk", "ro", "hr", "sl", "sr", "bs")},
    "de": {"Billion": "trn"}, "fr": {"billions": "trn", "Mds?": "bn"}, "ms": {"bilion": "bn"},
    "id": {"M": "bn", "jt": "M", "rb": "k", "T(?!-)": "trn"}, "vi": {"nghìn tỷ": "trn", "tr": "M"},
    "sv": {"mdr": "bn", "mn": "M", "tn": "k"}, "tr": {"bin": "k", "Mn": "M", "Mr": "bn"},
    "pt": {"mil": "k", "mi": "M", "bi": "bn", "tri": "trn"},
}  # fmt: skip
_MINUS = "[-\u2212\u2013]"
_NUMBER = re.compile(
    rf"(?P<minus>(?<![\w.,]){_MINUS}(?:(?:[A-Z]{{0,3}}[^\w\s.,]|[A-Z]{{3}}|{_NAMES})\s?|[A-Z][A-Za-z]{{0,2}})(?=[0-9])"
    rf"|(?:\A\s*{_MINUS}\s*|(?<![\w.,]){_MINUS})(?:[^\w\s.,]\s?)?)?"
    r"(?P<digits>[0-9]{1,3}(?:[ '\u2019\u00a0\u202f\u2009][0-9]{3})+(?![0-9])(?:[.,][0-9]+)?"
    r"|[0-9]+(?:[.,][0-9]+)*|(?<![\w.,/])[.,][0-9]+)"
    r"(?P<exponent>[eE][+-]?[0-9]{1,2}(?!\w))?"
    r"(?P<times>[kKM](?![\w'])|(?<=[.,][0-9])B(?!\w)|(?<=[.,][0-9]{2})T(?!\w)|(?<=[.,][0-9])\sM(?!\w)"
    rf"|\s?[kKM](?=[€$£])|\s?¢|\s?(?:{'|'.join(word for _power, word in _POWERS)}|Cr)(?!\w)\.?)?"
)
# "CHF-9.99".
_SIGN = re.compile(rf"(?<!\w)(?<![0-9]\s)({_NAMES})\.?({_MINUS})(?=\s?[0-9])")
# Marks and spaces as other scripts and careless writers have them, and what is not seen.
_OTHERS = str.maketrans(
    "\u066b\u066c\u060c\uff0e\uff0c\u2032\u02bc\u00b4\u2018\uff0d\ufe63\u2012"
    "\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u2060",
    ".\u2019\u2019.,''''--\u2013" + "\u2009" * 10,
    "\u00ad\u200b\u200c\u200d\u200e\u200f\u2066\u2067\u2068\u2069\u202a\u202b\u202c\ufeff",
)
_DASHED = re.compile(
    r"(?<![0-9])([0-9][0-9.,' \u2019\u00a0\u202f\u2009]{0,40})[.,]\s?[-\u2012\u2013\u2014]{1,2}(?![0-9\w])"
)
# The tenth of a cent of fuel, "1.85⁹"; other digits are those of a note.
_TENTH = re.compile("(?<=[.,][0-9]{2})\u2079(?![\u2070-\u2079])")
_RAISED = re.compile("(?<=[0-9])[.,]?([\u2070\u00b9\u00b2\u00b3\u2074-\u2079]{2})(?![\u2070-\u2079])")
# "1.299, 50" and "19 ,99".
_SPACED = re.compile(r"(?<=[0-9])(?: ?([.,]) | ([.,]))(?=[0-9]{2}(?![.,]?[0-9]))")
# Switzerland's "–.95".
_NO_WHOLE = re.compile(r"(?<=CHF |Fr\. )[-\u2212\u2013](?=\.[0-9]{2})|[-\u2212\u2013](?=\.[0-9]{2}\s?(?:CHF|Fr\.))")
# "35€99", "35 € ,99", and "35€ 99" where no other word follows; "£35£99" and "35€99€" are two prices.
# Sweden's "12:50 kr".
_CENTS = re.compile(
    r"(?<![€$£0-9.,])(?<![€$£]\s)([0-9](?:[0-9.,]*[0-9])?)(?:(?:([€$£])|\s?([€$£])\s?[.,])([0-9]{2})"
    r"(?![0-9.,%]|\s?[€$£])"
    r"|\s?([€$£])\s([0-9]{2})(?=\s*(?:\Z|[*/(|]|inkl|incl|zzgl)))"
)
# "12 руб. 50 коп."
_TWO_UNITS = re.compile(
    r"(?<![0-9.,])([0-9]+(?:[.,][0-9]{3})*)(\s?(?:руб\.?|₽|грн\.?|₴|zł|€|Euro|kr\.?))\s([0-9]{2})"
    r"\s?(?:коп|gr|[Cc]ents?|öre|øre)(?!\w)"
)
_COLON = re.compile(r"(?<=[0-9]):([0-9]{2})(?=\s?(?:kr|SEK)\b(?!\s?[0-9]))")
_BILLIONS = re.compile(r"([€$£¥]\s?[0-9][0-9.,]*)\s?(?:[bB](?!-[A-Z])n?|(T(?!-)n?|tn))(?!\w)")
_MILLIONS = re.compile(r"([€$£¥]\s?[0-9][0-9.,]*)\s?[mM]{1,2}n?(?!\w)|(?<=[0-9])\s?m(?=\s?[€$£¥])")
# East Asia's groups of four digits: "1億2,800万円", "1만 2,345원", "1.2万", "3万5千円".
_THOUSANDS = re.compile("(?<![0-9.,])([0-9])[千천](?=[円元원])")
_AMOUNT = r"[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,6}(?:\.[0-9]{1,2})?"
_LAST = "[0-9]{1,4}|[0-9],[0-9]{3}"
_MYRIAD = {"万亿": 12, "兆": 12, "조": 12, "億": 8, "亿": 8, "억": 8, "万": 4, "萬": 4, "만": 4}
_MYRIAD_UNIT = r"万亿|[億亿억万萬만兆]|조(?=[\s0-9원]|\Z)"
_WITH_MYRIAD = rf"(?:{_AMOUNT})\s?(?:{_MYRIAD_UNIT})"
_MYRIADS = re.compile(
    rf"(?<![0-9.,]){_WITH_MYRIAD}(?:\s?{_WITH_MYRIAD})*(?:(?:{_LAST})(?![0-9.,])|\s(?:{_LAST})(?=원))?"
)
_MIDDLE = re.compile("(?<=[0-9])[\u00b7\u02d9](?=[0-9])")
_HALVES = re.compile("([0-9]{0,40}) ?([\u00bc\u00bd\u00be])")
_DOUBTFUL = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
# What has three decimals.
_PER_LITRE = re.compile(r"[^0-9]{0,8}(?:/\s?|per |pro |por |al )(?:l\b|lit)", re.IGNORECASE)
_SPACES = re.compile("[ '\u2019\u00a0\u202f\u2009]")

# The decimal marks of languages, also of a country's where that differs, and of currencies.
_OF_LANGUAGES = {
    ",": "de es fr it nl pt pl da nb nn no sv fi cs sk sl hr sr bs mk sq bg ro hu el tr ru uk be kk az ka hy lt lv et "
    "is id vi ca gl eu af en-za",
    ".": "en ja zh ko he th hi bn ta te mr gu ur si ne ms tl ga cy mt rm es-mx es-us es-pr es-gt es-hn es-ni es-pa "
    "es-pe es-sv es-do de-ch de-li it-ch fr-ch",
}
_OF_CURRENCIES = {
    ",": "kr PLN SEK NOK DKK ISK CZK RUB UAH TRY HUF RON BGN BRL IDR VND ARS CLP COP RSD",
    ".": "$ ¥ USD GBP JPY CNY INR AUD CAD NZD HKD SGD TWD MYR THB PHP ILS KRW MXN PKR BDT LKR NGN",
}
# Whose prices have three decimals.
_OF_THREE = {".": ("KWD", "BHD", "OMR", "JOD"), ",": ("TND",)}
# Behind a number; before one they may name something else: "Euro 6".
_WORDS = {"Euros": "EUR", "euros": "EUR", "Euro": "EUR", "euro": "EUR", "Franken": "CHF", "reais": "BRL"}
_WORDS |= {"dollars": "$", "Dollars": "$", "Dollar": "$", "kronor": "kr", "kroner": "kr", "Kronen": "kr"}
_CURRENCIES |= _WORDS
# "1.299'50 €", "€ 19 99", and "19 99 €" where that is all.
_WHOLE = "([0-9]{1,3}(?:[., ][0-9]{3})+|[0-9]{1,6})"
_APART = re.compile(
    r"(?<![0-9.,'\u2019])([0-9][0-9.,]*)['\u2019]([0-9]{2})(?=\s?[€$£])"
    rf"|(?<=[€$£])\s?{_WHOLE} ([0-9]{{2}})(?=\s*(?:\Z|[*/(|]|inkl|incl|zzgl))"
    rf"|\A{_WHOLE} ([0-9]{{2}})(?=\s?(?:{_NAMES})\s*\Z)"
)
_BEFORE = re.compile(rf"(?<![A-Za-z])(?:[A-Z]{{2,3}} ?)??(?P<unit>{_NAMES})[\s.:]{{0,2}}[-\u2212\u2013]?\s?\Z")
_CENTS_END = re.compile(r"[.,][0-9]{2}\Z")
_BEHIND = "|".join([*_WORDS, _NAMES])
_AFTER = re.compile(
    rf"(?:(?:(?<=[.,][0-9]{{2}}) - |(?:-|\s?(?:\u2013|to|bis|a|à)\s?))(?P<until>[0-9][0-9.,]*))?\s?"
    rf"(?P<unit>{_BEHIND})(?!(?<=[A-Za-z])[A-Za-z])(?P<next>[0-9][0-9., ]*)?"
)
# A word right before a number that names what is sold, as none of these does.
_NAME = re.compile(
    r"(?<![^\W\d_])(?!(?:ab|von|zwischen|um|für|preis|nur|jetzt|je|ca|etwa|from|between|for|price|only|now|about|at|de|desde|"
    r"entre|por|precio|solo|à|dès|prix|pour|seulement|da|prezzo|vanaf|prijs|od|cena) ?\Z)[^\W\d_]{1,30} ?\Z",
    re.IGNORECASE,
)
# A former price, what is saved, and what is added.
_FORMER = re.compile(
    r"\b(?:statt|uvp|vorher|bisher|was|war|rrp|msrp|m\.?r\.?p|sparen|ersparnis|rabatt|gutschein|zzgl|save|savings|"
    r"discount|coupon|ahorras?|descuento|économisez|remise|instead of|au lieu de|antes|invece di|"
    r"(?:original|old) price|(?:originaler|ursprünglicher|alter) preis|ancien prix|prix d.origine|"
    r"precio (?:original|anterior)|prezzo originale|[0-9] ?(?:k?g|[cm]?l|m) ?=)[\s:.]{0,3}[^\s\w]?\s?\Z",
    re.IGNORECASE,
)
_EQUALS = re.compile(r"[^0-9=]{0,20}(?:=|≈|equals)\s*[^\s0-9]{0,3}\s?[0-9]")
# "PM10", "E10" (but K, L, P, Q and R are currencies), "7-Tage", "H2O", and "Ticket 4711: 3 open".
_IN_A_NAME = re.compile(
    r"(?<=[A-Za-z]{2})[0-9]|(?<=\b[A-JM-OS-Z])[0-9]{1,3}(?![0-9]|[.,][0-9])|[0-9]+-[^\W\d_]{2}"
    r"|(?<=[A-Za-z])[0-9]+[A-Za-z]|[0-9]+:\s+[0-9]"
)
# The letters of a product that has a number, "PS5 499 €".
_MODEL = re.compile(r"(?<![^\W_])(?:[A-Z]{1,3}|[a-z]{1,9}[A-Z][A-Za-z]{0,9})\Z")
_DATE = re.compile(
    r"(?<![0-9.,])(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}([./])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{1,2}/(?:19|20)[0-9]{2}"
    r"|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)"
    r"(?![0-9])"
)
# The price of a unit, beside that of what is sold; "23 mg/l" is none.
_PER_UNIT = re.compile(
    rf"\s?(?:(?:{_BEHIND})\W{{0,3}})?(?:/\s?|per |pro |je |por |al )"
    r"(?:10{0,3}\s?)?(?:k?g|[cm]?l|oz|lbs?|lit\w{1,4})\b",
    re.IGNORECASE,
)
_OTHER_UNIT = re.compile(r"\s?(%|‰|°[CF]?|[kKMG]?Wh|[kcm]?m|k?g|l|h|min)(?!\w)")


@dataclass(frozen=True, slots=True)
class Reading:
    """`other`: how it may be read as well, None where that is sure. `unit`: a currency's code, or as written, or ""."""

    value: Decimal
    other: Decimal | None
    unit: str


def read(text: str, mark: str = "", language: str = "") -> Reading | None:
    """Return the number; None if there is none.

    `mark`: the decimal mark "." or ",", "" to find it out. `language`: of the page, such as "de" or "de-ch".
    """
    text = _in_ascii(text, language)
    result, unit = _find(text)
    if result is None or len(result["digits"]) > _LONGEST:
        return None
    if not mark and _DOUBTFUL.fullmatch(result["digits"]) and _PER_LITRE.match(text, result.end()):
        mark = "." if "." in result["digits"] else ","
    likely, is_sure = (mark, True) if mark else _mark_of(result["digits"], unit, language)
    if (value := _decimal(result, likely)) is None:
        return None
    return Reading(value, None if is_sure else _decimal(result, {".": ",", ",": "."}[likely]), unit)


def number(text: str, mark: str = "") -> Decimal | None:
    result = read(text, mark)
    return None if result is None else result.value


def shown(value: Decimal) -> str:
    """The number in digits, without zeros at its end: "1234.5"."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _find(text: str) -> tuple[re.Match[str] | None, str]:
    """The match of the number, and its unit."""
    matches = sorted(_NUMBER.finditer(text, 0, _SEARCHED), key=_is_passed_over)
    if price := next(filter(None, map(_priced, matches)), None):
        return price
    first = _first(text, matches)
    other = _OTHER_UNIT.match(text, first.end()) if first else None
    return first, other[1] if other else ""


def _priced(match: re.Match[str]) -> tuple[re.Match[str], str] | None:
    """The match of a price and its currency, behind a product's number that looks like its first digits."""
    text, begin = match.string, match.start("digits")
    if (match["times"] or "").strip() == "¢":
        return match, "$"
    beside = _BEFORE.search(text[max(0, match.start() - 10) : begin])
    if beside is None:
        if _MODEL.search(text, max(0, begin - 20), begin) and _NAME.search(text[max(0, begin - 30) : begin]):
            match = _behind(match) or match
        beside = _after(text, match)
    return (match, _CURRENCIES.get(beside["unit"], beside["unit"])) if beside else None


def _is_passed_over(match: re.Match[str]) -> bool:
    """Whether it is a former price, that of a unit, or the one (or 100) that equals the number that follows."""
    text, begin = match.string, match.start("digits")
    is_one = match["digits"] in ("1", "10", "100", "1000")
    is_former = _FORMER.search(text, max(0, begin - 30), begin) or _PER_UNIT.match(text, match.end())
    return bool(is_former or (is_one and _EQUALS.match(text, match.end())))


def _first(text: str, matches: Sequence[re.Match[str]]) -> re.Match[str] | None:
    """The first that is not part of a name, a date or a time of day, else the first."""
    dated = {at for date in _DATE.finditer(text) for at in range(*date.span())}
    for match in matches:
        begin = match.start("digits")
        if begin not in dated and _IN_A_NAME.match(text, begin) is None:
            return match
        if behind := _behind(match):
            return behind
    return matches[0] if matches else None


def _behind(match: re.Match[str]) -> re.Match[str] | None:
    """The number behind that of a name, with which it looks grouped: "CO2 415"."""
    _of_name, _space, after = match["digits"].partition(" ")
    return _NUMBER.match(match.string, match.end("digits") - len(after)) if after else None


def _after(text: str, match: re.Match[str]) -> re.Match[str] | None:
    """The currency after a number, or after the range that it begins; "iPhone 15 – 799 €" is none.

    Of "19,99 €24,99 €" it is the first number's, of "10 €19.99" the next one's.
    """
    if (unit := _AFTER.match(text, match.end())) is None:
        return None
    is_next_ones = unit["next"] and not _CENTS_END.search(match["digits"])
    if is_next_ones and not text.startswith(unit["unit"], unit.end("next")):
        return None
    if unit["until"] is None:
        return unit
    before = text[max(0, match.start("digits") - 30) : match.start("digits")]
    if not match["digits"].isdigit() or _NAME.search(before) is None:
        return unit
    first, last = int(match["digits"]), int(re.split("[.,]", unit["until"])[0])
    return unit if first < last <= 3 * first else None


def _mark_of(digits: str, unit: str, language: str) -> tuple[str, bool]:
    """The likely decimal mark, "" to go by the marks themselves, and whether that is sure."""
    if not _DOUBTFUL.fullmatch(digits):
        return "", True
    written = "." if "." in digits else ","
    thousands = {".": ",", ",": "."}[written]
    by_language = _mark_for(_OF_LANGUAGES, language) or _mark_for(_OF_LANGUAGES, language[:2])
    if unit in _OF_THREE[written]:
        return written, True
    if not re.fullmatch(f"{_CODES}|kr|[$¥]|UZS|IR[RT]", unit):
        return by_language or (thousands if written == "," else written), bool(by_language)
    # Prices of three decimals are rare.
    marks = {_mark_for(_OF_CURRENCIES, unit), by_language} - {""}
    is_fraction = by_language == written and marks == {written}
    return written if is_fraction else thousands, marks == {thousands}


def _mark_for(marks: Mapping[str, str], name: str) -> str:
    return next((mark for mark, names in marks.items() if name in names.split()), "")


def _in_ascii(text: str, language: str) -> str:
    """Digits of other scripts, and the spaces and marks between digits, as ASCII has them; "1299.00" for "1.299,-".

    The language's words for powers of ten stand as M, bn or trn behind their number.
    """
    text = _TENTH.sub("90", _MIDDLE.sub(".", text))
    text = _RAISED.sub(lambda match: "." + unicodedata.normalize("NFKC", match[1]), text)
    text = _HALVES.sub(lambda match: f"{int(match[1] or 0) + unicodedata.numeric(match[2])}", text)
    letters = (letter for letter in text.translate(_OTHERS) if unicodedata.category(letter)[0] != "M")
    text = "".join(str(unicodedata.decimal(letter, letter)) for letter in letters)
    text = _CENTS.sub(_joined, _COLON.sub(r".\1", _TWO_UNITS.sub(_joined, _SPACED.sub(r"\1\2", text))))
    text = _SIGN.sub(r"\2\1", _APART.sub(_joined, _NO_WHOLE.sub("0", text)))
    text = _MILLIONS.sub(r"\1M", _BILLIONS.sub(lambda match: f"{match[1]}{'trn' if match[2] else 'bn'}", text))
    text = _MYRIADS.sub(_of_myriads, _THOUSANDS.sub(r"\g<1>000", text))
    text = _DASHED.sub(lambda match: f"{re.sub('[^0-9]', '', match[1])}.00", text)
    for word, meant in _POWERS_OF_LANGUAGES.get(language[:2], {}).items():
        text = re.sub(rf"(?<=[0-9])\s?{word}(?!\w)\.?", meant, text)
    return text


def _joined(match: re.Match[str]) -> str:
    """The whole part, the cents that stand apart from it, and the currency between them."""
    whole, *currency, cents = filter(None, match.groups())
    return f"{whole}{',' if '.' in whole else '.'}{cents}{''.join(currency)}"


def _of_myriads(match: re.Match[str]) -> str:
    parts = re.findall(rf"({_AMOUNT})\s?({_MYRIAD_UNIT})?", match[0])
    return f"{sum(Decimal(part.replace(',', '')).scaleb(_MYRIAD.get(unit, 0)) for part, unit in parts):.0f}"


def _decimal(match: re.Match[str], mark: str) -> Decimal | None:
    """None if the digits are not grouped as a number's are."""
    parts, digits = match.groupdict(""), _SPACES.sub("", match["digits"])
    mark = mark or _own_mark(digits)
    grouped, _point, fraction = digits.rpartition(mark) if mark and mark in digits else (digits, "", "")
    if (whole := _ungrouped(grouped, mark)) is None or not re.fullmatch("[0-9]*", fraction):
        return None
    value = Decimal(f"{'-' if parts['minus'] else ''}{whole}.{fraction or '0'}{parts['exponent']}")
    power = _power(parts["times"].strip())
    return value.scaleb(power) if power else value  # which rounds to 28 digits


def _power(times: str) -> int:
    words = (power for power, word in _POWERS if re.fullmatch(rf"{word}\.?", times))
    return _POWER_SIGNS.get(times.replace("K", "k").rstrip("."), 0) or next(words, 0)


def _own_mark(digits: str) -> str:
    """The last mark, where it occurs once or behind other ones; "" if all marks only group digits."""
    marks = re.findall("[.,]", digits)
    return marks[-1] if marks and (len(marks) == 1 or marks[-1] != marks[0]) else ""


def _ungrouped(digits: str, mark: str) -> str | None:
    """The digits before the decimal mark without the marks between groups; None for groups of other lengths."""
    if not re.search("[.,]", digits):
        return digits
    group = {".": ",", ",": "."}.get(mark) or ("," if "," in digits else ".")
    least = 2 if group == "," else 3  # India's groups
    is_grouped = re.fullmatch(rf"[0-9]{{1,3}}([{group}][0-9]{{{least},3}})*[{group}][0-9]{{3}}", digits)
    return digits.replace(group, "") if is_grouped else None
