"""Tools that others made accept the OpenAPI document, and make a client of it that can be used."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from openapi_spec_validator import validate

from api.v1 import api
from demo import codes
from demo.child import Child, worker_command
from demo.receivers import HTTPReceiver
from people import tokens
from tests.make import make_user
from tests.process.conftest import wait_until
from tests.process.notifications.conftest import environment
from tests.process.web import Web

_IMPORT_ALL = """
import importlib, pkgutil, made
names = [module.name for module in pkgutil.walk_packages(made.__path__, "made.")]
for name in names:
    importlib.import_module(name)
print(sum(name.startswith("made.api.") and name.count(".") == 3 for name in names))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `made`, which the usual generator has made of the document."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "document.json").write_text(json.dumps(api.get_openapi_schema()))
    (folder / "config.json").write_text('{"post_hooks": []}')
    program = Path(sys.executable).with_name("openapi-python-client")
    order = "generate --path document.json --config config.json --meta none --output-path made --fail-on-warning"
    done = subprocess.run([program, *order.split()], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return folder


def test_the_document_is_valid() -> None:
    validate(json.loads(json.dumps(api.get_openapi_schema())))


def test_the_usual_generator_makes_all_operations(made: Path) -> None:
    seen = subprocess.run([sys.executable, "-c", _IMPORT_ALL], cwd=made, capture_output=True, text=True, check=False)
    assert (seen.returncode, seen.stderr) == (0, "")
    assert int(seen.stdout) == sum(map(len, api.get_openapi_schema()["paths"].values()))


class Generated:
    """Calls operations by the client that was made of the document; what they answer has the types that it made."""

    def __init__(self, url: str, token: str) -> None:
        self.client = importlib.import_module("made").AuthenticatedClient(base_url=url, token=token)
        self.tags = {
            operation["operationId"]: operation["tags"][0].replace(" ", "_")
            for methods in api.get_openapi_schema()["paths"].values()
            for operation in methods.values()
        }

    def __call__(self, name: str, *ids: Any, body: dict[str, Any] | None = None, **parameters: Any) -> Any:
        call = importlib.import_module(f"made.api.{self.tags[name]}.{name}").sync_detailed
        if body is not None:
            taken = inspect.signature(call, eval_str=True).parameters["body"].annotation
            parameters["body"] = (get_args(taken) or (taken,))[0].from_dict(body)
        answer = call(*ids, client=self.client, **parameters)
        assert answer.status_code < 300, answer.content
        return answer.parsed


@pytest.fixture
def generated(
    web: Web, made: Path, broker: object, transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Generated]:
    monkeypatch.syspath_prepend(made)
    worker = Child("worker", worker_command("generated", "ERROR"), environment=environment())
    worker.start()
    token = tokens.create(make_user(email="ada@example.org"), "Generated", list(tokens.SCOPES), None)[1]
    made_client = Generated(f"http://127.0.0.1:{web.port}", token)
    with made_client.client:
        yield made_client
    worker.stop(10.0)


def test_a_program_with_a_generated_client_does_all_that_it_wants(generated: Generated) -> None:
    with HTTPReceiver() as receiver:
        assert generated("read_account").email == "ada@example.org"

        hook = generated("add_channel", body={"kind": "webhook", "label": "Hook", "fields": {"url": receiver.url}})
        wait_until(lambda: codes.in_posts(receiver))
        verified = generated("verify_channel", hook.id, body={"code": codes.in_posts(receiver)})
        assert verified.state == "ready"
        receiver.requests.clear()

        reminder = generated(
            "create_schedule",
            body={
                "title": "Water the plants",
                "timing": {"weekly": {"days": [6], "time": "18:00"}},
                "time_zone": "Europe/Berlin",
                "channel_ids": [str(hook.id)],
            },
        )
        assert generated("run_schedule", reminder.id).outcome == "fired"
        wait_until(lambda: [one.outcome for one in notifications(generated, reminder.id)] == ["full"])
        [notification] = notifications(generated, reminder.id)
        [delivery] = generated("read_notification", notification.id).deliveries
        assert [attempt.outcome for attempt in delivery.attempts] == ["delivered"]
        [posted] = receiver.requests
        assert posted.verified(hook.secret)["data"]["subject"] == "Water the plants"

    queue = generated("add_channel", body={"kind": "queue", "label": "Orders", "fields": {}})
    rule = {
        "name": "Orders",
        "type_pattern": "order.*",
        "title": "Order {data.order_id}",
        "channel_ids": [str(queue.id)],
    }
    rule_id = generated("create_rule", body=rule).id
    [published] = generated("publish", body={"type": "order.paid", "data": {"order_id": 7}}).items
    wait_until(lambda: generated("read_event", published.id).state == "handled")
    [effect] = generated("read_event", published.id).effects
    assert (effect.rule_id, effect.outcome) == (rule_id, "notified")
    assert len(generated("read_trace", published.id).items) == 2

    [message] = generated("pull_messages", queue.id, body={"wait_ms": 5_000}).items
    assert message.body["data"]["subject"] == "Order 7"
    [settled] = generated("settle_messages", queue.id, body={"acks": [{"lease_id": message.lease_id}]}).items
    assert settled.result == "acked"

    seen = [change.type_ for change in generated("list_changes").items]
    wanted = ["channel.verified", "schedule.created", "schedule.fired", "notification.full"]
    assert [type_ for type_ in seen if type_ in wanted] == [*wanted, "notification.full"]


def notifications(generated: Generated, schedule_id: Any) -> list[Any]:
    return list(generated("list_notifications", schedule_id=schedule_id).items)
