import json
import re
from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import HTTPReceiver, Reply, Reset, slack
from demo.receivers.slack import STATUSES, TOKEN, WEBHOOK, failing
from notifications import providers
from notifications.message import Ambiguous, Delivered, Destination, Message, Rejected, Retryable
from tests.providers.making import make_message, out_of_reach, stand_in

SLACK = providers.get("slack")
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


@pytest.fixture
def api() -> Iterator[HTTPReceiver]:
    with stand_in("slack", slack.answer) as receiver:
        yield receiver


def worlds() -> Iterator[Destination]:
    """For the contract: destinations, each in another state of the world."""
    with stand_in("slack", slack.answer) as receiver:
        for webhook in (WEBHOOK, *map(failing, STATUSES), WEBHOOK + "x"):
            yield make_destination(webhook)
        for told in (Reset(), Reply(200, body=b""), Reply(404, body=b"\xff"), Reply(503), Reply(302)):
            receiver.answers.append(told)
            yield make_destination()
    for _ in out_of_reach("slack"):
        yield make_destination()


def keys_sent(message: Message) -> list[str]:
    """For the contract: a webhook has no place for a key."""
    return []


def test_a_message_has_the_documented_shape(api: HTTPReceiver) -> None:
    assert SLACK.send(make_message(body="ferns & <moss>"), make_destination()) == Delivered()
    [request] = api.requests
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
def test_an_error_for_good_is_rejected_and_some_say_that_the_webhook_is_gone(
    api: HTTPReceiver, error: str, gone: bool
) -> None:
    answer = SLACK.send(make_message(), make_destination(failing(error)))
    assert isinstance(answer, Rejected)
    assert answer.gone == gone
    assert error not in answer.reason


def test_an_old_error_is_as_final_whatever_its_status(api: HTTPReceiver) -> None:
    api.answer = Reply(500, body=b"no_service")
    assert SLACK.send(make_message(), make_destination()) == Rejected("The webhook was removed in Slack.", gone=True)


def test_later_is_retried_when_slack_says(api: HTTPReceiver) -> None:
    answer = SLACK.send(make_message(), make_destination(failing("rate_limited")))
    assert answer == Retryable("Slack answered 429 Too Many Requests.", 30)
    assert isinstance(SLACK.send(make_message(), make_destination(failing("rollup_error"))), Retryable)


def test_a_silent_service_leaves_the_outcome_unknown(api: HTTPReceiver) -> None:
    api.answer = Reset()
    assert isinstance(SLACK.send(make_message(), make_destination()), Ambiguous)


def test_what_is_escaped_counts_as_it_is_sent_and_is_not_halved(api: HTTPReceiver) -> None:
    assert SLACK.send(make_message(body="&" * 3000), make_destination()) == Delivered()
    text = json.loads(api.requests[0].body)["text"]
    assert len(text) in range(3996, 4001)
    assert text.endswith("&amp;…")


@hypothesis.settings(max_examples=60, deadline=None, derandomize=True)
@hypothesis.given(
    subject=strategies.text(max_size=80),
    body=strategies.text(max_size=200) | strategies.text(alphabet="<>&;!@#|amplgt channel", max_size=200),
)
def test_no_text_mentions_links_or_changes_the_request(subject: str, body: str) -> None:
    with stand_in("slack", slack.answer) as receiver:
        SLACK.send(make_message(subject=subject, body=body), make_destination())
    document = json.loads(receiver.requests[0].body)
    assert set(document) == {"text", "mrkdwn", "link_names", "unfurl_links"}
    assert document["mrkdwn"] is False
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", document["text"])
    shown = document["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == "\n\n".join(filter(None, (subject, body)))
