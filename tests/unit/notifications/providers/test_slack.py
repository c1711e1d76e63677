import json
import re

from hypothesis import strategies

from demo.receivers import HTTPReceiver, Received, Reply, slack
from demo.receivers.slack import TOKEN, WEBHOOK, failing
from notifications import providers
from notifications.message import Destination, Message, Rejected
from notifications.reasons import Code
from tests.network import answered, make_message
from work.answers import Answer, Retryable
from work.reasons import Reason

SLACK = providers.get("slack")
ANSWER = slack.answer
URL = f"https://hooks.slack.com/services/{WEBHOOK}"

VALID = [{"url": URL}, {"url": f" {URL} "}]
WRONG = [
    f"https://example.org/services/{WEBHOOK}",
    f"https://hooks.slack.com.example.org/services/{WEBHOOK}",
    f"http://hooks.slack.com/services/{WEBHOOK}",
    f"https://hooks.slack.com/triggers/{WEBHOOK}",
    f"{URL}/../../x",
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


def rejected(code: Code, gone: bool = False) -> Answer:
    return Rejected(Reason(code, service="Slack"), gone)


ERRORS = {
    "no_service": rejected(Code.WEBHOOK_REMOVED, gone=True),
    "no_active_hooks": rejected(Code.WEBHOOK_REMOVED, gone=True),
    "no_team": rejected(Code.WORKSPACE_GONE, gone=True),
    "channel_not_found": rejected(Code.CHAT_DELETED, gone=True),
    "channel_is_archived": rejected(Code.CHAT_ARCHIVED, gone=True),
    "user_not_found": rejected(Code.RECIPIENT_LEFT, gone=True),
    "action_prohibited": rejected(Code.PROHIBITED),
    "posting_to_general_channel_denied": rejected(Code.PROHIBITED_GENERAL),
    "invalid_token": rejected(Code.WEBHOOK_TOKEN),
    "invalid_payload": Rejected(answered("Slack", 400)),
    "rate_limited": Retryable(answered("Slack", 429), 30),
    "rollup_error": Retryable(answered("Slack", 500)),
}
MEANINGS = [
    *[({"webhook": failing(error)}, None, answer) for error, answer in ERRORS.items()],
    ({"webhook": WEBHOOK + "x"}, None, rejected(Code.WEBHOOK_REMOVED, gone=True)),
    # An old error is permanent whatever its status.
    ({}, Reply(500, body=b"no_service"), rejected(Code.WEBHOOK_REMOVED, gone=True)),
]

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
