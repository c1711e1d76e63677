"""An announcement of an operator to a group of 1,000 people, with its progress."""

from __future__ import annotations

import re
import secrets
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

from demo.installation import Installation, wait_until
from demo.operator import Operator
from demo.report import Count, milliseconds, say

_PEOPLE = 1_000
_TITLE = "The office is closed on Friday"
_DUE_IN = timedelta(seconds=3)

_PROGRESS = re.compile(r"([\d,]+) of [\d,]+ people told.*?([\d.]+) %.*?Completed ([\d,]+)")
# To sign them up through the pages would take half an hour.
_MAKE_PEOPLE = """
WITH person AS (
    INSERT INTO people_user (password, is_superuser, email, name, time_zone, is_staff, is_active, date_joined)
    SELECT '!', false, 'reader' || n || '@example.org', 'Reader ' || n, 'Europe/Berlin', false, true, now()
      FROM generate_series(1, %s) n RETURNING id
), inbox AS (
    INSERT INTO notifications_channel (id, user_id, provider, label, address, sealed_secrets, on_unknown, verified_at)
    SELECT gen_random_uuid(), id, 'inbox', 'Inbox', '{}', '', '', now() FROM person
), company AS (
    INSERT INTO auth_group (name) VALUES ('The company') RETURNING id
), member AS (
    INSERT INTO people_user_groups (user_id, group_id) SELECT person.id, company.id FROM person, company
)
SELECT id FROM company
"""
_SENT = """
SELECT count(DISTINCT n.user_id) FILTER (WHERE d.state = 'delivered') AS people,
       count(*) FILTER (WHERE d.state = 'delivered') AS messages, count(*) AS deliveries
  FROM notifications_notification n JOIN notifications_delivery d ON d.notification_id = n.id
 WHERE n.subject = %s
"""


class Announcement:
    """`site` runs."""

    def __init__(self, site: Installation) -> None:
        self.site = site

    def run(self) -> list[Count]:
        """Run it, and return the counts. Raises DemoFailed."""
        [group] = self.site.rows(_MAKE_PEOPLE, _PEOPLE)
        with closing(Operator(self.site, "announcer@example.org", secrets.token_urlsafe(12))) as operator:
            slot = (datetime.now(UTC) + _DUE_IN).replace(microsecond=0)
            say(f"\nAn operator tells a group of {_PEOPLE:,} people “{_TITLE}” at {slot:%H:%M:%S} UTC")
            operator.announce(_TITLE, slot, f"group:{group['id']}")
            self._follow(operator, slot)
        [sent] = self.site.rows(_SENT, _TITLE)
        return [
            Count("people who got the announcement", _PEOPLE, sent["people"]),
            Count("messages of the announcement", _PEOPLE, sent["messages"]),
            Count("deliveries of it that did not arrive", 0, sent["deliveries"] - sent["messages"]),
        ]

    def _follow(self, operator: Operator, slot: datetime) -> None:
        """Say what the page of the batch shows, whenever it has changed."""
        shown = ""

        def ended() -> bool:
            nonlocal shown
            page = operator.batch(_TITLE)
            found = _PROGRESS.search(page)
            if found and found[0] != shown:
                shown, (told, percent, completed) = found[0], found.groups()
                later = milliseconds(datetime.now(UTC) - slot)
                say(f"  {later:>6} later: {told} told, {percent} % done, {completed} sent")
            time.sleep(0.3)
            return "Ended" in page

        wait_until(ended, "the end of the batch", within=120)
