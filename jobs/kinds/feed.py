"""Read a feed: what is new in it since the last check, each entry once."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.utils.translation import gettext as _, gettext_lazy, gettext_noop

from common.parsing.pool import parsed
from jobs.kinds import silence
from jobs.kinds.address_kind import AddressForm, AddressKind, host_of
from jobs.kinds.base import Ask, Found, Nothing, Say
from jobs.reading import feeds
from jobs.reading.fetch import Fetch, Later, Refused
from work.reasons import Codes, Reason

MOST_REMEMBERED = 500
_MOST_LISTED = 10


class FeedCode(Codes):
    FIRST = "feed-first", gettext_noop("checked {host} for the first time; what it has now counts as read ({count})")
    NOTHING_NEW = "feed-nothing-new", gettext_noop("checked {host}: nothing new")
    NEW = "feed-new", gettext_noop("checked {host}: {count} new")
    LEFT_OUT = "feed-left-out", gettext_noop("The newest {most} entries count; {count} older ones are left out.")
    # It could not check.
    NOT_A_FEED = "not-a-feed", gettext_noop("{host} did not answer with a feed. {problem}")


class Feed(AddressKind):
    name = "feed"
    label = gettext_lazy("Feed")
    about = gettext_lazy("Reads a feed (RSS, Atom, JSON Feed), and tells you what is new in it.")
    position = 30
    form = AddressForm
    example: ClassVar = {"url": "https://example.org/feed.xml"}
    placeholders: ClassVar = {
        "count": "2",
        "feed": "Django releases",
        "title": "Django 5.2.9 released",
        "link": "https://example.org/5.2.9",
        "entries": "Django 5.2.9 released\nhttps://example.org/5.2.9",
    }
    title = gettext_lazy("New in {feed}: {count}")
    body = "{entries}"

    def summary(self, payload: Mapping[str, Any]) -> str:
        return _("the feed of %(host)s") % {"host": host_of(payload)}

    def question(self, ask: Ask) -> Any:
        return ask.payload.get("url")

    def check(self, ask: Ask, fetch: Fetch) -> Found | Later | Refused:
        page, host = self.read(ask, fetch), host_of(ask.payload)
        try:
            kind = page.headers.get("Content-Type", "")
            return Found(parsed(feeds.read, page.body, kind, ask.payload["url"], person=ask.user_id))
        except feeds.NotAFeed as refusal:
            return Refused(Reason(FeedCode.NOT_A_FEED, host=host, problem=refusal))

    def decide(self, ask: Ask, value: Any) -> Say | Nothing:
        """The memory holds the keys of the entries that were there, the latest first, and how long nothing is new.

        Of earlier releases it is the keys alone.
        """
        host, entries = host_of(ask.payload), value["entries"]
        old: Mapping[str, Any] = {"keys": ask.memory} if isinstance(ask.memory, list) else ask.memory or {"keys": []}
        old_keys = set(old["keys"])
        new = [entry for entry in entries if entry["key"] not in old_keys]
        keys = list(dict.fromkeys([*(entry["key"] for entry in entries), *old["keys"]]))[:MOST_REMEMBERED]
        before = old.get("silence", silence.BROUGHT if old_keys else None)
        pause = silence.follow(before, ask.now, brings=bool(new))
        memory = {"keys": keys, "silence": pause}
        if ask.memory is None:
            return Nothing(_evidence(value, FeedCode.FIRST, host=host, count=len(entries)), memory)
        if not new:
            silent = Nothing(_evidence(value, FeedCode.NOTHING_NEW, host=host), memory)
            return silence.noted(silent, before, pause)
        words = {
            "count": str(len(new)),
            "feed": value["title"] or host,
            "title": _title(new[0]),
            "link": new[0]["link"],
            "entries": _listed(new),
        }
        return Say(_evidence(value, FeedCode.NEW, host=host, count=len(new)), words, memory)


def _evidence(value: Any, code: FeedCode, **params: Any) -> Reason:
    """With what was left out of a long feed."""
    reason = Reason(code, **params)
    if not (dropped := value.get("dropped")):
        return reason
    left_out = Reason(FeedCode.LEFT_OUT, most=feeds.MOST, count=dropped)
    left_out.params["listed"] = [{"cause": str(left_out), "count": dropped, "example": ""}]
    return reason.then(left_out)


def _title(entry: Mapping[str, str]) -> str:
    return entry["title"] or _("Untitled")


def _listed(entries: list[Mapping[str, str]]) -> str:
    listed = ["\n".join(filter(None, (_title(entry), entry["link"]))) for entry in entries[:_MOST_LISTED]]
    if len(entries) > _MOST_LISTED:
        listed.append(_("… and %(count)s more") % {"count": len(entries) - _MOST_LISTED})
    return "\n\n".join(listed)
