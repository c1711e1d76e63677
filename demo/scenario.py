"""The scenario: one reminder to a channel of each kind; one webhook is broken, and repaired later."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial

from demo import codes
from demo.installation import Installation, wait_until
from demo.operator import Operator
from demo.outcome import Outcome, outcome
from demo.person import Person
from demo.receivers import HTTPReceiver, Mail, Received, Reply, SMTPReceiver
from demo.report import Count, milliseconds, say, table
from demo.services import Service
from demo.webhook import WebhookReceiver

_TITLE = "Water the plants"
_DUE_IN = timedelta(seconds=4)
_INBOX, _MAIL = "Inbox", "Ada's mail"
_RESCUE = 6.0  # seconds: rescue runs every five


class Scenario:
    """`site` runs, `post` is its mail server; `pager` answers 200, `moved` 404. `others`: further services."""

    def __init__(
        self,
        site: Installation,
        post: SMTPReceiver,
        pager: HTTPReceiver,
        moved: HTTPReceiver,
        others: Sequence[Service] = (),
    ) -> None:
        self.site = site
        self.others = others
        self.post = post
        self.pager = WebhookReceiver("Pager", pager)
        self.moved = WebhookReceiver("Old address", moved, broken=True)

    def run(self) -> list[Count]:
        """Run it, and return the counts. Raises DemoFailed."""
        password = secrets.token_urlsafe(12)
        with closing(Person(self.site.url, "Ada", "ada@example.org", password, "Europe/Berlin")) as ada:
            say("\nAda signs up through the web pages")
            say(f"  signed up as {ada.email}; her inbox is there from the start")
            self._add_channels(ada)
            self._remind(ada)
            broken = self._settled()
            self._show(ada, broken)
            self._repair(broken)
            repaired = self._settled()
            self._show(ada, repaired)
            return self._counts(ada, repaired)

    def _add_channels(self, ada: Person) -> None:
        ada.add_email(_MAIL, ada.email)
        ada.confirm(_MAIL, lambda: codes.in_mails(self.post, ada.email))
        say(f"  added email “{_MAIL}”, and entered the code that was sent to it")
        for hook in (self.pager, self.moved):
            later, hook.receiver.answer = hook.receiver.answer, Reply()
            hook.secret = ada.add_webhook(hook.label, hook.receiver.url)
            ada.confirm(hook.label, partial(codes.in_posts, hook.receiver))
            hook.receiver.requests.clear()
            hook.receiver.answer = later
            say(f"  added webhook “{hook.label}” at {hook.receiver.url}; its secret was shown once, its code entered")

        for service in self.others:
            ada.add(service.kind, service.label, **service.typed)
            ada.confirm(service.label, partial(codes.in_posts, service.receiver))
            say(f"  added “{service.label}”, and entered the code that arrived there")

    def _remind(self, ada: Person) -> None:
        slot = (datetime.now(UTC) + _DUE_IN).replace(microsecond=0)
        ada.remind(_TITLE, slot)
        say(f"  made the reminder “{_TITLE}”, once, at {slot:%H:%M:%S} UTC, on all {4 + len(self.others)} channels")
        say("\nBeat fires it, the workers send it …")

    def _repair(self, broken: Outcome) -> None:
        say(f"\n“{self.moved.label}” answered 404: a dead letter, no retries, and the others were not affected.")
        say("Its receiver is repaired. An operator replays the dead letter in the admin …")
        self.moved.repair()
        with closing(Operator(self.site, "operator@example.org", secrets.token_urlsafe(12))) as operator:
            operator.replay(broken.of(self.moved.label).key)
        wait_until(lambda: len(self.moved.taken) > 0, "the replay", within=60)
        self._settled()
        say(f"Wait for one more round of rescue ({_RESCUE:.0f} s), to see that nothing arrives twice …")
        time.sleep(_RESCUE)

    def _settled(self) -> Outcome:
        def found() -> Outcome | None:
            said = outcome(self.site, _TITLE)
            return said if said and said.settled else None

        return wait_until(found, "a settled end of each delivery", within=90)

    def _show(self, ada: Person, said: Outcome) -> None:
        say(f"\n  slot {said.slot:%Y-%m-%d %H:%M:%S} UTC, fired {milliseconds(said.lateness)} late\n")
        got = {
            _INBOX: [f"{ada.inbox(_TITLE)} on the inbox page"],
            _MAIL: [f"mail at +{milliseconds(mail.at - said.slot)}" for mail in self._mails()],
            self.pager.label: self._posts(self.pager, said),
            self.moved.label: self._posts(self.moved, said),
            **{
                service.label: [f"message at +{milliseconds(post.at - said.slot)}" for post in service.said(_TITLE)]
                for service in self.others
            },
        }
        rows: list[tuple[str, ...]] = []
        for sent in said.sent:
            outcomes = ", ".join(outcome or "under way" for outcome, _ in sent.attempts)
            first, *others = got[sent.channel] or ["nothing"]
            rows += [(sent.channel, sent.state, outcomes, first), *(("", "", "", other) for other in others)]
        say(table(("channel", "state", "attempts", "what the receiver got"), rows))

    def _posts(self, hook: WebhookReceiver, said: Outcome) -> list[str]:
        right = self._valid(hook, said)
        return [
            f"post at +{milliseconds(post.at - said.slot)}, {'signature valid' if post in right else 'NOT VALID'}, "
            f"answered {404 if post in hook.refused else 200}"
            for post in hook.receiver.requests
        ]

    def _counts(self, ada: Person, said: Outcome) -> list[Count]:
        arrived = [ada.inbox(_TITLE), len(self._mails()), len(self.pager.taken), len(self.moved.taken)]
        there = {service.label: len(service.said(_TITLE)) for service in self.others}
        right = [*self._valid(self.pager, said), *self._valid(self.moved, said)]
        return [
            Count("inbox messages", 1, arrived[0]),
            Count("mails", 1, arrived[1]),
            Count(f"posts that “{self.pager.label}” took", 1, arrived[2]),
            Count(f"posts that “{self.moved.label}” refused with 404", 1, len(self.moved.refused)),
            Count(f"posts that “{self.moved.label}” took after the replay", 1, arrived[3]),
            *(Count(f"messages in {label}", 1, count) for label, count in there.items()),
            Count("posts with the right key, text and signature", 3, len(right)),
            Count("channels that got it twice", 0, sum(count > 1 for count in (*arrived, *there.values()))),
        ]

    def _valid(self, hook: WebhookReceiver, said: Outcome) -> list[Received]:
        return [post for post in hook.receiver.requests if hook.is_valid(post, said.of(hook.label).key, _TITLE)]

    def _mails(self) -> list[Mail]:
        """Mails of the reminder, without the one that confirms the address."""
        return [mail for mail in self.post.mails if mail.message["Subject"] == _TITLE]
