"""The commands of docs/api.md and docs/events.md, in their order, against a real web process."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from events.kinds.event import EVENT
from events.models import Event, Run
from notifications.models import Delivery
from people import tokens
from tests.make import make_channel, make_delivery, make_rule, make_user, send_now
from tests.process.web import Web
from work.engine import runner

pytestmark = pytest.mark.django_db(transaction=True)

DOCS = Path(__file__).parents[3] / "docs"


def commands(page: str) -> list[str]:
    """The lines of the page's shell blocks, those that go on joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (DOCS / page).read_text(), re.M | re.S)
    return re.findall(r"^(?:curl|export)\b.*?(?=^(?:curl|export)\b|\Z)", "".join(blocks), re.M | re.S)


@pytest.mark.parametrize("page", ["api.md", "events.md"])
def test_every_command_of_the_page_succeeds(page: str, web: Web) -> None:
    person = make_user()
    make_delivery(make_channel(person, "webhook"), state="dead")
    make_rule(person, channels=[make_channel(person)])
    Run.objects.create(user=person, flow="incident", key="disk", correlation_id=uuid4(), state={"phase": "open"})
    known = {
        "CARILLON": f"http://127.0.0.1:{web.port}/api/v1",
        "AUTH": f"Authorization: Bearer {tokens.create(person, 'Docs', list(tokens.SCOPES), None)[1]}",
        "JSON": "Content-Type: application/json",
    }
    answer: Any = {}
    for command in commands(page):
        if name := re.match(r"export (\w+)=", command):
            if name[1] == "LEASE":
                known["LEASE"] = answer["items"][0]["lease_id"]
            elif name[1] == "LOCK":
                known["LOCK"] = answer["token"]
            elif name[1] not in ("CARILLON", "AUTH", "JSON"):
                known[name[1]] = (answer.get("items") or [answer])[0]["url" if name[1].endswith("_URL") else "id"]
            continue
        script = f'curl() {{ command curl -sS --fail-with-body "$@"; }}\n{command}'
        done = subprocess.run(
            ["bash", "-c", script], env={"PATH": os.environ["PATH"], **known}, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        answer = json.loads(done.stdout or "{}")
        if command.rstrip().endswith("/run"):
            send_now(Delivery.objects.get(state="pending").id)
        for event in Event.objects.filter(state="pending"):
            runner.run(EVENT, event.id, "worker")
    assert set(known) == set(re.findall(r"^export (\w+)=", (DOCS / page).read_text(), re.M))
    assert not Event.objects.filter(state__in=["dead", "unknown"]).exists()
