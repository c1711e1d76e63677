"""The text of a reminder: its placeholders, and how it is cut to a service's limit. Pure."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches

import regex
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from common import zones
from common.times import dates

# User text never reaches a template engine or str.format: only these names, and nothing nested in them.
NAMES = ("name", "slot", "date", "time", "schedule")
PLACEHOLDER = re.compile(r"\{([a-z_]{1,40})\}")

MAX_SUBJECT = 200
MAX_BODY = 10_000
MAX_PROBLEMS = 10
MAX_PLACEHOLDERS = 100

ELLIPSIS = "…"
# Characters before a cut in which the last whole cluster is looked for.
_NEAR = 100

_LIKE_A_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_.-]{0,40})\}")


@dataclass(frozen=True, slots=True)
class Text:
    subject: str
    body: str


def compose(
    title: str, body: str, *, name: str, slot: datetime, time_zone: str, more: Mapping[str, str] | None = None
) -> Text:
    """Fill in the placeholders; anything else in braces stays as typed.

    Times are in `time_zone` and in the active language. `more` are the values of further placeholders.
    """
    local = slot.astimezone(zones.read(time_zone))
    date, hour = dates.weekday(local), f"{local:%H:%M}"
    values = {"name": name, "slot": f"{date}, {hour}", "date": date, "time": hour, "schedule": title, **(more or {})}
    subject = _fill(title, values | {"schedule": ""})
    return cut(subject, _fill(body, {name: literal(value) for name, value in values.items()}), _("Reminder"))


def cut(subject: str, body: str, otherwise: str) -> Text:
    """Texts of any length as those of a notification; `otherwise` is its subject where there is none."""
    return Text(fit(" ".join(subject.split()), MAX_SUBJECT).text or otherwise, fit(body, MAX_BODY).text)


def replace(pattern: re.Pattern[str], template: str, value: Callable[[re.Match[str]], str]) -> str:
    """Replace what `pattern` finds by its value, until the text is longer than any that is sent."""
    parts: list[str] = []
    length = end = 0
    for match in pattern.finditer(template):
        if length > MAX_BODY:
            return "".join(parts)
        parts += [template[end : match.start()], value(match)]
        length, end = length + len(parts[-2]) + len(parts[-1]), match.end()
    return "".join([*parts, template[end:]])


def too_many(pattern: re.Pattern[str], template: str) -> list[str]:
    """Return a sentence if the text has more placeholders than one may have."""
    if (count := sum(1 for _match in pattern.finditer(template))) <= MAX_PLACEHOLDERS:
        return []
    problem = _("This text has %(count)s placeholders; at most %(most)s are possible. Remove some.")
    return [problem % {"count": count, "most": MAX_PLACEHOLDERS}]


def check(template: str, more: Sequence[str] = ()) -> list[str]:
    """Return one sentence for each of the first ten unknown placeholders in a title or body, or for too many of them.

    Check the length first. `more` are further names that are known.
    """
    if problems := too_many(_LIKE_A_PLACEHOLDER, template):
        return problems
    names = (*NAMES, *more)
    seen = set(names)
    for match in _LIKE_A_PLACEHOLDER.finditer(template):
        if (word := match[1]) in seen:
            continue
        if len(problems) == MAX_PROBLEMS:
            break
        seen.add(word)
        hint = _("Use %(names)s or %(last)s.") % {
            "names": ", ".join(f"{{{name}}}" for name in names[:-1]),
            "last": f"{{{names[-1]}}}",
        }
        near = get_close_matches(word.lower(), names, n=1)
        values = {"word": f"{{{word}}}", "known": hint}
        if near:
            problem = _(
                "%(word)s is not a placeholder. Did you mean %(near)s? %(known)s To keep it as text, add a space inside"
                " it."
            )
            problems.append(problem % {**values, "near": f"{{{near[0]}}}"})
        else:
            problem = _("%(word)s is not a placeholder. %(known)s To keep it as text, add a space inside it.")
            problems.append(problem % values)
    return problems


_LIKE_A_MARK = re.compile(
    r"(?<!\w)_|_(?!\w)|(?<=\*)\*|\*(?=\*)|\A\*|\*\Z|\](?=\(|\Z)|\A\((?=\Z|https?:)|(?m:^) *[-*](?= )", re.IGNORECASE
)


def literal(value: str) -> str:
    """Return a value that is filled into a text, with invisible joiners where it would be read as bold or a link."""
    if "_" not in value and not re.search(r"[*\])]|(?m:^) *- |\A\(", value):
        return value
    return around_links(value, lambda rest: _LIKE_A_MARK.sub("\N{WORD JOINER}\\g<0>\N{WORD JOINER}", rest))


def without_placeholders(text: str) -> str:
    """Return a text of another program, in which words in braces stay words."""
    return PLACEHOLDER.sub(lambda match: f"{{ {match[1]} }}", text)


def _fill(text: str, values: Mapping[str, str]) -> str:
    return replace(PLACEHOLDER, text, lambda match: values.get(match[1], match[0]))


_LETTER = r"[^\s\x00-\x20\x7f<>\"\\`“”„‘’«»…—。、，「」【】（）\u200b\u2060\ufeff()\[\]{}]"
_ADDRESS = re.compile(
    rf"(?<![^\W_])(?<!@)https?://(\w|\[[0-9a-f:.%]+\])({_LETTER}|\({_LETTER}*\)|\[{_LETTER}*\]|\{{{_LETTER}*\}})*",
    re.IGNORECASE,
)
_STOPS = ".,;:!?'"


def addresses(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each web address begins and ends, without the punctuation, brackets and markup around it."""
    if "://" not in text:
        return
    for match in _ADDRESS.finditer(text):
        before = text[max(0, match.start() - 4) : match.start()]
        marks = before[len(before.rstrip("*_~|")) :][::-1]
        address = match[0].rstrip(_STOPS).removesuffix(marks).rstrip(_STOPS)
        yield match.start(), match.start() + len(address)


def around_links(text: str, escape: Callable[[str], str], link: Callable[[str, str], str] = lambda url, _: url) -> str:
    """Return the text with `escape` of all but its web addresses, and `link` of each and the character after it."""
    parts, done = [], 0
    for start, end in addresses(text):
        parts += [escape(text[done:start]), link(text[start:end], text[end : end + 1])]
        done = end
    return "".join([*parts, escape(text[done:])])


def markdown_link(url: str, after: str) -> str:
    """Return the address, in angle brackets where its end or a character in it could be taken for something else."""
    plain = re.fullmatch(r"[\w/:.?=&%+~,;#@$!-]+", url) and (not after or after.isspace())
    return url if plain else f"<{url}>"


def as_html(text: str, escape: Callable[[str], str] = escape) -> SafeString:
    """Return the text with its web addresses as links; `escape` makes HTML of the rest."""
    link = '<a href="{0}">{0}</a>'
    return mark_safe(around_links(text, escape, lambda url, _: format_html(link, url)))  # noqa: S308 - all is escaped


@dataclass(frozen=True, slots=True)
class Fitted:
    """Text as a service gets it. `length` is in the unit that the service counts; `limit` is None if it has none.

    `source` is what of the text fits, before it was escaped, without the footer.
    """

    text: str
    length: int
    limit: int | None = None
    cut: bool = False
    source: str = ""


def utf16(text: str) -> int:
    """Return the length in UTF-16 code units; an emoji has at least two."""
    return len(text.encode("utf-16-le")) // 2


def utf8(text: str) -> int:
    return len(text.encode())


def fit(
    text: str,
    limit: int | None,
    measure: Callable[[str], int] = len,
    escape: Callable[[str], str] = str,
    footer: str = "",
    close: Callable[[str, int], tuple[int, str]] = lambda text, position: (position, ""),
) -> Fitted:
    """Return `text`, escaped, at most `limit` long as `measure` counts it after escaping.

    A longer text ends in “…” after the last whole grapheme cluster (UAX 29) or web address that fits, so no escape
    sequence, no emoji and no link is split. Unpaired surrogates, which no service accepts, become U+FFFD. `footer`
    follows the text uncut; one that needs more than half of the limit is left out. `close` says where to cut within
    marks, and what closes them.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    end = escape(f"\n\n{footer}" if text.strip() else footer) if footer else ""
    if limit is not None and measure(end) > limit // 2:
        end = ""
    whole = escape(text) + end
    length = measure(whole)
    if limit is None or length <= limit:
        return Fitted(whole, length, limit, source=text)

    links = list(addresses(text))

    def cut(position: int) -> str:
        # Half an address would lead elsewhere. One that fills most of the space is cut all the same.
        position = next((start for start, end in links if start < position < end and position < 2 * start), position)
        position, closing = close(text, position)
        return text[:position].rstrip() + ELLIPSIS + closing

    # By characters first: a person's text may have thousands of clusters, and few of them are near its end.
    fits = max(0, bisect_right(range(limit), limit, key=lambda position: measure(escape(cut(position)) + end)) - 1)
    ends = _cluster_ends(text, max(0, fits - _NEAR), min(limit, fits + _NEAR))
    # One very long cluster, such as a letter with thousands of accents: cut inside it rather than drop it.
    source = cut(fits if len(ends) == 2 else ends[bisect_right(ends, fits) - 1])
    shortened = escape(source) + end
    return Fitted(shortened, measure(shortened), limit, cut=True, source=source)


def _cluster_ends(text: str, start: int, end: int) -> list[int]:
    """About `start`, and where each grapheme cluster behind it ends, up to `end`."""
    # A flag is two letters, so a row of flags is counted from its begin.
    start -= next((count for count in range(start) if not "🇦" <= text[start - 1 - count] <= "🇿"), start) % 2
    return [start, *(start + match.end() for match in regex.finditer(r"\X", text[start:end]))]
