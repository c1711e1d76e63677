"""The demo of events: a flow, programs that pull queues, and what becomes of them when they are killed."""

from __future__ import annotations

import pytest

from demo.installation import Installation
from demo.keywords import SETTINGS, Keywords, Service
from demo.receivers import HTTPReceiver
from tests import migrated

pytestmark = pytest.mark.journey


def test_the_demo_of_events_counts_right(request: pytest.FixtureRequest) -> None:
    service = Service()
    with HTTPReceiver(service.answer) as receiver:
        site = Installation("test_keywords", migrated.template(), DEMO_SERVICE=receiver.origin, **SETTINGS)
        with site:
            site.start(site.web, site.worker, site.beat)
            counts = Keywords(site, service).run()
    for name, lines in site.logs.items():  # shown where the test failed
        request.node.add_report_section("call", f"lines of {name}", "\n".join(lines))
    assert [str(count) for count in counts if not count.exact] == []
