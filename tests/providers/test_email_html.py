"""The HTML beside the text, and how a person ends the mails."""

from __future__ import annotations

from demo.receivers import SMTPReceiver
from tests.providers.making import make_message, text_of
from tests.providers.test_email import ADA, EMAIL, mail_server

URL = "https://carillon.example/unsubscribe/abc?x=1&y=2"


def sent(**overrides: str) -> SMTPReceiver:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        EMAIL.send(make_message(**overrides), ADA)
    return receiver


def test_a_mail_has_its_text_first_and_html_that_says_the_same() -> None:
    [mail] = sent(subject="1 < 2", body="The <b>ferns</b>\n  & moss {{ x }} {% now 'Y' %}").mails
    assert mail.message.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.message.iter_parts()] == ["text/plain", "text/html"]
    page = text_of(mail.message, "html")
    assert "The &lt;b&gt;ferns&lt;/b&gt;\n  &amp; moss {{ x }} {% now &#x27;Y&#x27; %}</div>" in page
    assert "<title>1 &lt; 2</title>" in page
    assert "Stop these messages" not in page
    assert mail.message["List-Unsubscribe"] is None


def test_a_mail_can_be_ended_by_a_click_or_a_link() -> None:
    [mail] = sent(unsubscribe_url=URL).mails
    assert mail.message["List-Unsubscribe"] == f"<{URL}>"
    assert mail.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"Stop these messages: {URL}" in text_of(mail.message, "plain")
    assert 'href="https://carillon.example/unsubscribe/abc?x=1&amp;y=2"' in text_of(mail.message, "html")


def test_what_waits_for_an_answer_carries_a_link_to_it_in_both_parts() -> None:
    url = "https://carillon.example/answer/0a1b/"
    [mail] = sent(answer_url=url, unsubscribe_url=URL).mails
    text = text_of(mail.message, "plain")
    assert text.index("The ferns") < text.index(f"Acknowledge or snooze: {url}\n") < text.index("Stop these messages")
    assert f'href="{url}">Acknowledge or snooze</a>' in text_of(mail.message, "html")


def test_one_click_is_not_promised_without_encryption() -> None:
    [mail] = sent(unsubscribe_url="http://127.0.0.1:8000/unsubscribe/abc").mails
    assert mail.message["List-Unsubscribe"] == "<http://127.0.0.1:8000/unsubscribe/abc>"
    assert mail.message["List-Unsubscribe-Post"] is None
