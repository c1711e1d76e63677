import json
import re

import pytest
from hypothesis import strategies
from pytest_django.fixtures import Settings

from demo.receivers import HTTPReceiver, Received, Reply, slack
from demo.receivers.http import in_json
from demo.receivers.slack import MATTERMOST, OTHER_WORKFLOW, TOKEN, WEBHOOK, WORKFLOW, failing, in_mattermost
from notifications import providers
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.reasons import DeliveryCode
from tests.network import answered, make_message
from work.answers import Answer, Retryable
from work.reasons import Reason

SLACK = providers.get("slack")
ANSWER = slack.answer
URL = f"https://hooks.slack.com/services/{WEBHOOK}"

OLD_WORKFLOW = "workflows/T00000001/A00000001/123456789012345678/planted0planted0planted0"
ELSEWHERE = [f"https://chat.example.org{MATTERMOST}", f"http://chat.example.org:8065/team/chat{MATTERMOST}"]
ELSEWHERE += ["https://rocket.example.org/hooks/5a1b2c3d4e5f6a7b8/plantedplantedplantedplanted"]
VALID = [{"url": URL}, {"url": f" {URL} "}, *[{"url": url} for url in ELSEWHERE]]
VALID += [{"url": f"https://hooks.slack.com/{workflow}"} for workflow in (WORKFLOW, OLD_WORKFLOW)]
WRONG = [
    f"https://example.org/services/{WEBHOOK}",
    f"https://hooks.slack.com.example.org/services/{WEBHOOK}",
    f"http://hooks.slack.com/services/{WEBHOOK}",
    f"https://hooks.slack.com/triggers/{WEBHOOK}",
    f"{URL}/../../x",
    "https://hooks.slack.com/triggers/T00000001/planted",
    f"https://hooks.slack.com{MATTERMOST}",
    f"https://user:planted@chat.example.org{MATTERMOST}",
    f"http://10.0.0.1{MATTERMOST}",
    "https://chat.example.org/hooks/planted",
    f"https://chat.example.org{MATTERMOST}?planted=1",
    f"https://hooks.slack.com/services/T0/B0/{TOKEN}",
    URL.replace("planted", "plan ted"),
]
INVALID = [({}, "url"), *[({"url": url}, "url") for url in WRONG]]

SENT = (
    f"/services/{WEBHOOK}",
    {},
    {
        "text": "Water the plants\n\nThe ferns too. ☂",
        "mrkdwn": False,
        "link_names": False,
        "unfurl_links": False,
    },
)


def rejected(code: DeliveryCode, gone: bool = False) -> Answer:
    return Rejected(Reason(code, service="Slack"), gone)


ERRORS = {
    "no_service": rejected(DeliveryCode.WEBHOOK_REMOVED, gone=True),
    "no_active_hooks": rejected(DeliveryCode.WEBHOOK_REMOVED, gone=True),
    "no_team": rejected(DeliveryCode.WORKSPACE_GONE, gone=True),
    "channel_not_found": rejected(DeliveryCode.CHAT_DELETED, gone=True),
    "channel_is_archived": rejected(DeliveryCode.CHAT_ARCHIVED, gone=True),
    "user_not_found": rejected(DeliveryCode.RECIPIENT_LEFT, gone=True),
    "action_prohibited": rejected(DeliveryCode.PROHIBITED),
    "posting_to_general_channel_denied": rejected(DeliveryCode.PROHIBITED_GENERAL),
    "invalid_token": rejected(DeliveryCode.WEBHOOK_TOKEN),
    "invalid_payload": Rejected(answered("Slack", 400)),
    "rate_limited": Retryable(answered("Slack", 429), 30),
    "rollup_error": Retryable(answered("Slack", 500)),
}
MEANINGS = [
    *[({"webhook": failing(error)}, None, answer) for error, answer in ERRORS.items()],
    ({"webhook": WEBHOOK + "x"}, None, rejected(DeliveryCode.WEBHOOK_REMOVED, gone=True)),
    ({"webhook": WORKFLOW}, None, Delivered()),
    ({"webhook": OTHER_WORKFLOW}, None, Rejected(Reason(DeliveryCode.WORKFLOW))),
    ({"webhook": WORKFLOW}, in_json(200, {"ok": False, "error": "x"}), Rejected(Reason(DeliveryCode.WORKFLOW))),
    ({"webhook": WORKFLOW}, Reply(404), Rejected(answered("Slack", 404))),
    ({"webhook": WORKFLOW}, Reply(429, {"Retry-After": "30"}), Retryable(answered("Slack", 429), 30)),
    # An old error is permanent whatever its status.
    ({}, Reply(500, body=b"no_service"), rejected(DeliveryCode.WEBHOOK_REMOVED, gone=True)),
]

PROHIBITED = Rejected(Reason(DeliveryCode.PROHIBITED, service="the chat server"))
OF_MATTERMOST = {
    "invalid": Rejected(Reason(DeliveryCode.WEBHOOK_REMOVED, service="the chat server"), gone=True),
    "channel": Rejected(Reason(DeliveryCode.CHAT_DELETED, service="the chat server"), gone=True),
    "permissions": PROHIBITED,
    "channel_locked": PROHIBITED,
    "disabled": PROHIBITED,
    "text": Rejected(answered("the chat server", 400)),
}

TEXTS = {"text"}
TEXT = strategies.text(alphabet="<>&;!@#|amplgt channel", max_size=200)


def destination(origin: str = "", webhook: str = WEBHOOK) -> Destination:
    return SLACK.destination({"url": webhook})


def check_text(request: Received, message: Message) -> None:
    sent = json.loads(request.body)["text"]
    assert not re.search(r"[<>]|&(?!(amp|lt|gt);)", sent)
    shown = sent.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == "\n\n".join(filter(None, (message.subject, message.body)))


def test_the_three_special_characters_are_escaped(receiver: HTTPReceiver) -> None:
    SLACK.send(make_message(subject="", body="ferns & <moss>"), destination())
    assert json.loads(receiver.requests[0].body)["text"] == "ferns &amp; &lt;moss&gt;"


def at_mattermost(receiver: HTTPReceiver, path: str = "") -> Destination:
    return SLACK.destination({"url": f"{receiver.origin}{path}{MATTERMOST}"})


LINKS = {"answer_url": "https://carillon.example/answer/0a1b/", "open_url": "https://carillon.example/history/1/"}


def test_a_workflow_gets_one_variable_with_text_and_links_as_they_are(receiver: HTTPReceiver) -> None:
    message = make_message(body="ferns & <moss>", **LINKS)
    assert SLACK.send(message, destination(webhook=WORKFLOW)) == Delivered()
    [request] = receiver.requests
    assert request.path == f"/{WORKFLOW}"
    done = f"Done or snooze: {LINKS['answer_url']}"
    assert json.loads(request.body) == {"text": f"Water the plants\n\nferns & <moss>\n\n{done}"}


def test_another_chat_server_gets_markdown_that_shows_the_text_as_typed(receiver: HTTPReceiver) -> None:
    body = "# *now* @channel <!here> :bell: &amp; _x_\n===\n- at 12:30 https://example.org/a_b."
    sent = at_mattermost(receiver, "/team/chat")
    assert SLACK.send(make_message(subject="", body=body, **LINKS), sent) == Delivered()
    [request] = receiver.requests
    assert request.path == f"/team/chat{MATTERMOST}"
    document = json.loads(request.body)
    joiner = "\N{WORD JOINER}"
    assert document["text"] == (
        rf"\# \*now\* @{joiner}channel <{joiner}\!here\> :{joiner}bell: &{joiner}amp; \_x\_"
        f"\n={joiner}==\n"
        r"\- at 12:30 <https://example.org/a_b>\."
    )
    [attachment] = document["attachments"]
    done, shown = LINKS["answer_url"], LINKS["open_url"]
    assert attachment == {"text": f"[Done]({done}) · [Snooze]({done}#snooze) · [Open]({shown})"}
    assert SLACK.summary(sent) == "127.0.0.1 · Webhook …plan"
    assert SLACK.host(sent) == "127.0.0.1"


@pytest.mark.parametrize(("error", "answer"), OF_MATTERMOST.items())
def test_each_error_of_mattermost_has_its_meaning(receiver: HTTPReceiver, error: str, answer: Answer) -> None:
    receiver.answer = in_mattermost(f"web.incoming_webhook.{error}.app_error")
    assert SLACK.send(make_message(), at_mattermost(receiver)) == answer


def test_a_chat_servers_limit_is_waited_for(receiver: HTTPReceiver) -> None:
    receiver.answer = Reply(429, {"Retry-After": "12", "X-RateLimit-Remaining": "0"}, b"limit exceeded")
    assert SLACK.send(make_message(), at_mattermost(receiver)) == Retryable(answered("the chat server", 429), 12)


def test_a_chat_server_inside_is_refused_when_it_is_sent_to(receiver: HTTPReceiver, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = []
    assert isinstance(SLACK.send(make_message(), at_mattermost(receiver)), Rejected)
    assert receiver.requests == []
