import json
import re

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Reply, slack
from demo.receivers.slack import STATUSES, TOKEN, WEBHOOK, failing
from notifications import providers
from notifications.message import Delivered, Destination, Rejected
from notifications.reasons import Code
from tests.network import answered, make_message, served
from work.answers import Retryable
from work.reasons import Reason

SLACK = providers.get("slack")
ANSWER = slack.answer
URL = f"https://hooks.slack.com/services/{WEBHOOK}"

VALID = [{"url": URL}, {"url": f" {URL} "}]
INVALID = [
    ({}, "url"),
    ({"url": f"https://example.org/services/{WEBHOOK}"}, "url"),
    ({"url": f"https://hooks.slack.com.example.org/services/{WEBHOOK}"}, "url"),
    ({"url": f"http://hooks.slack.com/services/{WEBHOOK}"}, "url"),
    ({"url": f"https://hooks.slack.com/triggers/{WEBHOOK}"}, "url"),
    ({"url": f"{URL}/../../x"}, "url"),
    ({"url": f"https://hooks.slack.com/services/T0/B0/{TOKEN}"}, "url"),
    ({"url": URL.replace("planted", "plan ted")}, "url"),
]


def make_destination(webhook: str = WEBHOOK) -> Destination:
    return SLACK.destination({"url": webhook})


def destinations(origin: str) -> list[Destination]:
    return [*map(make_destination, (WEBHOOK, *map(failing, STATUSES), WEBHOOK + "x"))]


def test_a_message_has_the_documented_shape(receiver: HTTPReceiver) -> None:
    assert SLACK.send(make_message(body="ferns & <moss>"), make_destination()) == Delivered()
    [request] = receiver.requests
    assert (request.method, request.path) == ("POST", f"/services/{WEBHOOK}")
    assert request.headers["Content-Type"] == "application/json"
    assert json.loads(request.body) == {
        "text": "Water the plants\n\nferns &amp; &lt;moss&gt;",
        "mrkdwn": False,
        "link_names": False,
        "unfurl_links": False,
    }


@pytest.mark.parametrize(
    ("error", "gone"),
    [
        ("no_service", True),
        ("no_active_hooks", True),
        ("no_team", True),
        ("channel_not_found", True),
        ("channel_is_archived", True),
        ("user_not_found", True),
        ("action_prohibited", False),
        ("posting_to_general_channel_denied", False),
        ("invalid_token", False),
        ("invalid_payload", False),
    ],
)
def test_a_permanent_error_is_rejected_and_may_mean_that_the_webhook_is_gone(
    receiver: HTTPReceiver, error: str, gone: bool
) -> None:
    answer = SLACK.send(make_message(), make_destination(failing(error)))
    assert isinstance(answer, Rejected)
    assert answer.gone == gone
    assert error not in str(answer.reason)


def test_an_old_error_is_permanent_whatever_its_status(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(500, body=b"no_service")
    assert SLACK.send(make_message(), make_destination()) == Rejected(
        Reason(Code.WEBHOOK_REMOVED, service="Slack"), gone=True
    )


def test_a_temporary_error_is_retried_when_slack_says(receiver: HTTPReceiver) -> None:
    answer = SLACK.send(make_message(), make_destination(failing("rate_limited")))
    assert answer == Retryable(answered("Slack", 429), 30)
    assert isinstance(SLACK.send(make_message(), make_destination(failing("rollup_error"))), Retryable)


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=80),
    body=strategies.text(max_size=200) | strategies.text(alphabet="<>&;!@#|amplgt channel", max_size=200),
)
def test_no_text_mentions_links_or_changes_the_request(subject: str, body: str) -> None:
    with served(ANSWER) as receiver:
        SLACK.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"text", "mrkdwn", "link_names", "unfurl_links"}
    assert document["mrkdwn"] is False
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", document["text"])
    shown = document["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == "\n\n".join(filter(None, (subject, body)))
