import hypothesis
import pytest
import regex
from hypothesis import strategies

from notifications.messages.text import ELLIPSIS, fit, utf8, utf16

FAMILY = "👨‍👩‍👧‍👦"  # seven code points, eleven UTF-16 units, one character
FLAG = "🇩🇪"
ACCENTED = "e\u0301"


def escaped(text: str) -> str:
    return text.replace("&", "&amp;")


def test_a_short_text_is_unchanged() -> None:
    fitted = fit("The ferns too", 13)
    assert (fitted.text, fitted.length, fitted.limit, fitted.cut) == ("The ferns too", 13, 13, False)
    assert fit("x" * 99_999, None).cut is False
    assert fit("Plants", 20, footer="Open: u").text == "Plants\n\nOpen: u"
    assert fit("Plants", 17, footer="Open: u").text == "Plants", "a footer of more than half is left out"


def test_a_long_text_ends_in_an_ellipsis_within_the_limit() -> None:
    fitted = fit("The ferns too", 10)
    assert (fitted.text, fitted.length, fitted.cut) == ("The ferns…", 10, True)
    assert fit("The ferns too", 11).text == "The ferns…", "no space before the ellipsis"


@pytest.mark.parametrize("character", [FAMILY, FLAG, ACCENTED, "👍🏽", "각"])
@pytest.mark.parametrize("measure", [len, utf16, utf8])
def test_no_character_is_split(character: str, measure: type) -> None:
    for limit in range(20, 60):
        fitted = fit(character * 60, limit, measure)
        assert measure(fitted.text) == fitted.length <= limit
        assert fitted.text.removesuffix(ELLIPSIS).replace(character, "") == ""


def test_an_escape_is_not_split_and_counts_as_it_is_sent() -> None:
    assert fit("a&b", 7, len, escaped).text == "a&amp;b"
    assert fit("a&bcd", 7, len, escaped).text == "a&amp;…"
    assert fit("a&bcd", 6, len, escaped).text == "a…"


def test_a_very_long_cluster_is_cut_inside() -> None:
    fitted = fit("e" + "\u0301" * 500, 100)
    assert fitted.length == 100
    assert fitted.text.startswith("e\u0301")


@pytest.mark.parametrize("character", ["x", ACCENTED, FLAG, FAMILY])
def test_the_cut_of_a_long_text_reads_few_of_its_characters(character: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, plain = [], regex.finditer

    def finditer(pattern: str, string: str) -> object:
        read.append(len(string))
        return plain(pattern, string)

    monkeypatch.setattr(regex, "finditer", finditer)
    fitted = fit(character * 10_000, 10_000)
    assert fitted.text.removesuffix(ELLIPSIS).replace(character, "") == ""
    assert len(fitted.text) > 9_980 and sum(read) <= 200


def test_an_unpaired_surrogate_is_replaced() -> None:
    assert fit("a\ud83db", 100).text == "a\ufffdb"
    assert fit("\ud83d\ude00", 100).text == "😀"


@hypothesis.settings(deadline=None, derandomize=True)
@hypothesis.given(
    text=strategies.text(max_size=80),
    limit=strategies.integers(1, 90),
    measure=strategies.sampled_from([len, utf16, utf8]),
)
def test_every_text_fits_and_is_cut_as_little_as_possible(text: str, limit: int, measure: type) -> None:
    hypothesis.assume(limit >= measure(ELLIPSIS))
    fitted = fit(text, limit, measure, escaped)
    assert measure(fitted.text) <= limit
    assert fitted.cut == (measure(escaped(text)) > limit)
    if fitted.cut:
        kept = fitted.text.removesuffix(ELLIPSIS)
        clusters = regex.findall(r"\X", text)
        starts = {escaped("".join(clusters[:count]).rstrip()): count for count in range(len(clusters))}
        if kept in starts:
            longer = escaped("".join(clusters[: starts[kept] + 1]).rstrip()) + ELLIPSIS
            assert longer == fitted.text or measure(longer) > limit
        else:
            assert len(regex.findall(r"\X", text[:limit])) == 1, "cut within a character"
