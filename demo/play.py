"""The story: a reminder of one's own, delivered on four channels, one of which is broken and mended."""

from __future__ import annotations

import secrets
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

from standardwebhooks import WebhookVerificationError

from demo.ledger import Account, account
from demo.operator import Operator
from demo.person import Person
from demo.report import Count, say, table
from demo.stage import Stage, wait_until
from tests.receivers import HTTPReceiver, Mail, Received, Reply, SMTPReceiver

_TITLE = "Water the plants"
_DUE_IN = timedelta(seconds=4)
_INBOX, _MAIL, _PAGER, _MOVED = "Inbox", "Ada's mail", "Pager", "Moved house"
_RESCUE = 6.0  # seconds: rescue goes round every five


class Play:
    """`stage` has been started, `mail` is its mail server; `pager` answers 200, `moved` 404 until it is mended."""

    def __init__(self, stage: Stage, mail: SMTPReceiver, pager: HTTPReceiver, moved: HTTPReceiver) -> None:
        self.stage, self.mail = stage, mail
        self.hooks = {_PAGER: pager, _MOVED: moved}
        self.keys: dict[str, str] = {}
        self.refused = 0

    def run(self) -> list[Count]:
        """Tell it, and return what must have been counted. Raises StageFailed where it does not get to its end."""
        with closing(
            Person(self.stage.url, "Ada", "ada@example.org", secrets.token_urlsafe(12), "Europe/Berlin")
        ) as ada:
            say("\nAda signs up through the web pages")
            say(f"  signed up as {ada.email}; her inbox is there from the start")
            self._add_channels(ada)
            self._remind(ada)
            broken = self._show(ada)
            self._mend(broken)
            self._show(ada)
            return self._counts(ada, broken)

    def _add_channels(self, ada: Person) -> None:
        ada.add_email(_MAIL, ada.email)
        say(f"  added e-mail “{_MAIL}”")
        for label, hook in self.hooks.items():
            self.keys[label] = ada.add_webhook(label, hook.url)
            say(f"  added webhook “{label}” at {hook.url}; its signing secret was shown once")

    def _remind(self, ada: Person) -> None:
        slot = (datetime.now(UTC) + _DUE_IN).replace(microsecond=0)
        ada.remind(_TITLE, slot)
        say(f"  made the reminder “{_TITLE}”, once, at {slot:%H:%M:%S} UTC, on all four channels")
        say("\nBeat fires it, the workers send it …")
        self._wait_until_settled()

    def _mend(self, broken: Account) -> None:
        letter = broken.of(_MOVED)
        say(f"\n“{_MOVED}” answered 404: a dead letter, no retries, and the other three were left alone.")
        say("Its receiver is mended. An operator replays the dead letter in the admin …")
        self.refused = len(self.hooks[_MOVED].requests)
        self.hooks[_MOVED].answer = Reply()
        with closing(Operator(self.stage, "operator@example.org", secrets.token_urlsafe(12))) as operator:
            operator.replay(letter.key)
        wait_until(lambda: len(self.hooks[_MOVED].requests) > self.refused, "the replay", within=20)
        self._wait_until_settled()
        say(f"Rescue goes round once more ({_RESCUE:.0f} s), in case anything were to come twice …")
        time.sleep(_RESCUE)

    def _wait_until_settled(self) -> Account:
        def settled() -> Account | None:
            found = account(self.stage, _TITLE)
            return found if found and found.settled else None

        return wait_until(settled, "a settled end of each delivery", within=30)

    def _show(self, ada: Person) -> Account:
        said = self._wait_until_settled()
        say(f"\n  slot {said.slot:%Y-%m-%d %H:%M:%S} UTC, fired {_ms(said.lateness)} late\n")
        got = {
            _INBOX: f"{ada.inbox(_TITLE)} on the inbox page",
            _MAIL: "; ".join(f"mail at +{_ms(mail.at - said.slot)}" for mail in self._mails()),
        }
        for label, hook in self.hooks.items():
            got[label] = "; ".join(
                f"post at +{_ms(post.at - said.slot)}, {'signed' if self._right(label, post, said) else 'NOT RIGHT'}, "
                f"answered {404 if label == _MOVED and number < (self.refused or 1) else 200}"
                for number, post in enumerate(hook.requests)
            )
        rows = [
            (
                sent.channel,
                sent.state,
                ", ".join(outcome or "under way" for outcome, _ in sent.attempts),
                got[sent.channel],
            )
            for sent in said.sent
        ]
        say(table(("channel", "state", "attempts", "what the receiver got"), rows))
        return said

    def _counts(self, ada: Person, said: Account) -> list[Count]:
        """What was taken by its receiver; the posts that were answered 404 were not."""
        taken = {
            label: [self._right(label, post, said) for post in hook.requests] for label, hook in self.hooks.items()
        }
        refused, taken[_MOVED] = taken[_MOVED][: self.refused], taken[_MOVED][self.refused :]
        arrived = [ada.inbox(_TITLE), len(self._mails()), *(len(posts) for posts in taken.values())]
        return [
            Count("inbox messages", 1, arrived[0]),
            Count("mails", 1, arrived[1]),
            Count(f"posts that “{_PAGER}” took", 1, arrived[2]),
            Count(f"posts that “{_MOVED}” refused with 404", 1, len(refused)),
            Count(f"posts that “{_MOVED}” took after the replay", 1, arrived[3]),
            Count("posts with the right key, text and signature", 3, sum(refused) + sum(map(sum, taken.values()))),
            Count("channels that got it twice", 0, sum(count > 1 for count in arrived)),
        ]

    def _mails(self) -> list[Mail]:
        """Those of the reminder: signing up brings one too, which asks to confirm the address."""
        return [mail for mail in self.mail.mails if mail.message["Subject"] == _TITLE]

    def _right(self, label: str, post: Received, said: Account) -> bool:
        """Signed with the channel's secret, under the delivery's key, saying what the reminder says."""
        try:
            document = post.verified(self.keys[label])
        except WebhookVerificationError:
            return False
        return post.headers["webhook-id"] == str(said.of(label).key) and document["data"]["subject"] == _TITLE


def _ms(duration: timedelta) -> str:
    return (
        f"{duration.total_seconds() * 1000:.0f} ms"
        if duration < timedelta(seconds=1)
        else f"{duration.total_seconds():.1f} s"
    )
