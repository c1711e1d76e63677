"""RabbitMQ as the broker, where Debian's is installed: it is no part of what is installed for tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from celery import current_app
from django.conf import settings

from bench.faults import brokers
from common.uuid7 import uuid7
from notifications.deliveries import outbox
from tests.process.conftest import wait_until
from work.broker import backlog, publisher

pytestmark = pytest.mark.skipif(not brokers.RABBITMQ.exists(), reason="RabbitMQ is not installed")


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[brokers.RabbitMQ]:
    with brokers.RabbitMQ() as node:
        monkeypatch.setattr(settings, "HAS_RABBITMQ", True)
        monkeypatch.setitem(current_app.conf, "broker_write_url", node.variables["BROKER_URL"])
        monkeypatch.setattr(current_app.amqp, "_producer_pool", None)
        yield node
        current_app.amqp.producer_pool.connections.force_close_all()


def publish() -> None:
    publisher.publish(current_app, outbox.DELIVER, [(uuid7(), 0.0)])


def waiting() -> int:
    found = backlog.read(["deliveries"])
    assert found
    return found.waiting["deliveries"]


def test_a_restart_is_noticed_and_costs_no_publisher_its_next_message(node: brokers.RabbitMQ) -> None:
    publish()
    assert waiting() == 1
    backlog.mark()
    marked = backlog.read([])
    assert marked and not marked.forgot
    node.kill()
    wait_until(lambda: backlog.read([]) is not None)
    emptied = backlog.read([])
    assert emptied and emptied.forgot
    publish()
    assert waiting() == 1
