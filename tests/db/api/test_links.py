"""Each link of the OpenAPI document leads from a real answer to something that is there."""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import Settings

from api.v1 import api as api_of_v1
from people.models import User
from tests.db.api.conftest import Api
from tests.db.conftest import undone
from tests.db.every_url import bodies_of, every_operation, values_of
from tests.make import make_channel, make_delivery

pytestmark = pytest.mark.django_db

NOT_FOLLOWED = {"check_schedule"}  # as `check_job`, and the schedule here has no job
OF_BOARDS = {"list_board_messages", "write_on_board"}  # the channel that is added here is a queue


def value(expression: Any, path: dict[str, Any], answer: Any) -> Any:
    if isinstance(expression, dict):
        return {name: value(one, path, answer) for name, one in expression.items()}
    if isinstance(expression, list):
        return [value(one, path, answer) for one in expression]
    if expression.startswith("$request.path."):
        return path[expression.removeprefix("$request.path.")]
    for step in re.fullmatch(r"\$response\.body#/(.+)", expression)[1].split("/"):  # type: ignore[index]
        answer = answer[int(step) if step.isdecimal() else step]
    return answer


@pytest.mark.usefixtures("sample_kinds")
def test_each_link_leads_to_something(ada: User, api: Api, settings: Settings) -> None:
    settings.API_REQUESTS_PER_MINUTE = 0
    values = values_of(ada)
    bodies = bodies_of(values) | {
        "create_status_webhook": {"url": "https://example.org/", "types": ["delivery.*"]},
        "add_channel": {"kind": "queue"},
        "check_job": {"job": {"kind": "sample", "payload": {"value": "seven"}}},
    }
    make_delivery(make_channel(ada, "webhook"), state="dead")
    queue = make_channel(ada, "queue")
    make_delivery(queue)
    values |= {"queue_id": queue.id}
    operations = {one.name: one for one in every_operation()}
    paths = api_of_v1.get_openapi_schema()["paths"]
    followed, wrong = set(), []
    for name, source in operations.items():
        responses = paths[source.template][source.method.lower()]["responses"]
        if name in NOT_FOLLOWED or not any("links" in one for one in responses.values()):
            continue
        with undone():
            answer = api(source.method, source.path(values), bodies.get(name), Idempotency_Key=uuid4().hex)
            assert answer.status_code < 300, (name, answer.content)
            given = answer.json() if answer.content else None
            for link in responses[answer.status_code]["links"].values():
                target = operations[link["operationId"]]
                if name == "add_channel" and target.name in OF_BOARDS:
                    continue
                path = {one: value(expression, values, given) for one, expression in link["parameters"].items()}
                body = value(link["requestBody"], values, given) if "requestBody" in link else bodies.get(target.name)
                with undone():
                    reached = api(target.method, target.path(path), body).status_code
                if reached in (404, 405) or reached >= 500:
                    wrong.append((name, target.name, path, reached))
                followed.add(target.name)
    assert wrong == []
    assert len(followed) > 60
