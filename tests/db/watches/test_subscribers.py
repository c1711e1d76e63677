"""Incidents of a status page by mail, over real SMTP: who gets them, how often, and what strangers can cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import Settings

from demo.receivers import SMTPReceiver
from notifications.deliveries import limits
from people.models import User
from people.sign_in import mailboxes
from tests.db.locks import wait_for_a_lock
from tests.db.watches.test_status_pages import make_page
from tests.make import make_user, signed_in
from tests.unit.notifications.providers.test_email import mail_server
from watches import tasks
from watches.models import PublicIncident, StatusMail, StatusMailAttempt, StatusPage, Subscriber
from watches.status_pages import status, subscribers
from watches.status_pages.mail import STATUS_MAIL
from work.engine import claim, runner
from work.engine.runner import TryAgain

READER = "reader@example.net"
ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@pytest.fixture
def post() -> Iterator[SMTPReceiver]:
    with SMTPReceiver() as receiver, mail_server(receiver.port):
        yield receiver


@pytest.fixture
def page(ada: User) -> StatusPage:
    return make_page(ada)


def ask(client: Client, address: str = READER, slug: str = "ours") -> str:
    return client.post(f"/status/{slug}/subscribe", {"address": address}).content.decode()


def send() -> None:
    """Send what is pending, a try each."""
    for mail_id in StatusMail.objects.filter(state="pending").order_by("id").values_list("id", flat=True):
        StatusMail.objects.filter(id=mail_id).update(available_at=timezone.now() - timedelta(hours=1))
        with suppress(TryAgain):
            runner.run(STATUS_MAIL, mail_id, "worker")


def link(post: SMTPReceiver) -> str:
    """The path of the link in the last mail."""
    found = re.search(r"/subscription/[0-9a-f]+/", post.mails[-1].message["List-Unsubscribe"])
    assert found is not None
    return found[0]


def subscribe(client: Client, post: SMTPReceiver, address: str = READER) -> str:
    ask(client, address)
    send()
    client.post(path := link(post), {"act": "confirm"})
    return path


def publish(browser: Client, page: StatusPage, title: str = "Payments are slow") -> PublicIncident:
    browser.post("/watches/pages/incidents/new/", {"page": page.id, "title": title, "text": "We are on it."})
    return page.incidents.get(title=title)


def edit(browser: Client, incident: PublicIncident, **changed: str) -> None:
    values = {"title": incident.title, "text": incident.text} | changed
    browser.post(f"/watches/pages/incidents/{incident.id}/", values)


def subjects(post: SMTPReceiver) -> list[str]:
    return [one.message["Subject"] for one in post.mails]


def test_who_confirms_gets_each_news_of_an_incident_once(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    ask(client, "Reader@Example.NET")
    send()
    assert post.mails[0].recipients == [READER]
    assert "/subscription/" in post.mails[0].message.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    incident = publish(browser, page)
    send()
    assert len(post.mails) == 1  # it is not confirmed
    assert b"Get the incidents" in client.get(link(post)).content
    client.post(link(post), {"act": "confirm"})
    edit(browser, incident, text="It gets better.")
    edit(browser, incident, text="It gets better.")  # nothing new
    send()
    send()
    edit(browser, incident, text="It works.", is_over="on")
    send()
    assert subjects(post)[1:] == ["Our services: update: Payments are slow", "Our services: over: Payments are slow"]
    assert "It works." in str(post.mails[-1].message)
    publish(browser, page, "Shop is down")
    send()
    assert subjects(post)[-1] == "Our services: Shop is down"


def test_news_that_waits_is_one_mail_with_the_newest_text(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    post.replies["DATA"] = "451 Later"
    incident = publish(browser, page)
    send()
    assert StatusMailAttempt.objects.filter(outcome="retryable").count() == 1
    edit(browser, incident, text="It gets better.")
    post.mails.clear()
    post.replies.clear()
    send()
    assert subjects(post) == ["Our services: Payments are slow"]
    assert "It gets better." in str(post.mails[0].message)
    assert StatusMail.objects.filter(incident=incident).count() == 1


def test_line_breaks_of_a_browser_are_no_news(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    incident = PublicIncident.objects.create(page=page, title="Payments are slow", text="We are on it.\nSorry.")
    edit(browser, incident, text="We are on it.\r\nSorry.")
    assert not StatusMail.objects.filter(incident=incident).exists()
    edit(browser, incident, text="We are on it.\r\nSorry.", is_over="on")
    assert StatusMail.objects.filter(incident=incident).count() == 1
    incident.refresh_from_db()
    assert incident.text == "We are on it.\nSorry."


def test_news_during_a_try_that_fails_is_told_once(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe(client, post)
    incident = publish(browser, page)
    original = limits.send

    def send_during_an_edit(*args: Any) -> Any:
        monkeypatch.undo()
        edit(browser, incident, text="It gets better.")
        return original(*args)

    monkeypatch.setattr(limits, "send", send_during_an_edit)
    post.replies["DATA"] = "451 Later"
    send()
    assert StatusMail.objects.filter(incident=incident, state="pending").count() == 2
    post.mails.clear()
    post.replies.clear()
    send()
    assert subjects(post) == ["Our services: update: Payments are slow"]
    assert "It gets better." in str(post.mails[0].message)
    first = StatusMail.objects.get(incident=incident, what="opened")
    assert (first.state, first.reason_code) == ("cancelled", "newer-slot")


def test_a_form_that_is_sent_twice_publishes_one_incident(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    assert publish(browser, page) == publish(browser, page)
    page.incidents.update(ended_at=Now())
    publish(browser, page, "Shop is down")
    browser.post("/watches/pages/incidents/new/", {"page": page.id, "title": "Payments are slow", "text": "Again."})
    assert page.incidents.count() == StatusMail.objects.filter(what="opened").count() == 3


def test_the_answer_does_not_say_who_is_subscribed(client: Client, page: StatusPage, post: SMTPReceiver) -> None:
    subscribe(client, post)
    mailboxes.refuse("refused@example.net")
    answers = {re.sub("csrf[^>]*", "", ask(client, one)) for one in (READER, "new@example.net", "refused@example.net")}
    assert len(answers) == 1
    assert "Check your mail" in answers.pop()
    send()
    assert [one.recipients for one in post.mails[1:]] == [["new@example.net"]]


def test_one_click_unsubscribes_and_leaves_nothing(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver, settings: Settings
) -> None:
    settings.BASE_URL = "https://carillon.example"
    subscribe(client, post)
    publish(browser, page)
    send()
    headers = post.mails[-1].message
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert headers["List-Id"] == "<status.carillon.example>"
    path = link(post)
    client.get(path)
    assert Subscriber.objects.exists()
    assert Client(enforce_csrf_checks=True).post(path, ONE_CLICK).status_code == 200
    assert not Subscriber.objects.exists()
    assert not StatusMail.objects.exists()
    assert b"You are not subscribed" in client.get(path).content
    assert client.post(path, {"act": "confirm"}).status_code == 302
    assert not Subscriber.objects.exists()


def test_who_did_not_ask_is_asked_no_more_by_any_page_and_may_undo_it(
    client: Client, ada: User, page: StatusPage, post: SMTPReceiver
) -> None:
    StatusPage.objects.create(user=ada, title="Other", slug="other")
    ask(client)
    send()
    path = link(post)
    client.post(path, ONE_CLICK)
    ask(client)
    ask(client, slug="other")
    ask(client, READER.replace("@", "+tag@"))
    send()
    assert len(post.mails) == 1
    client.post(path, {"act": "confirm"})
    assert not Subscriber.objects.filter(confirmed_at__isnull=False).exists()
    client.post(path, {"act": "allow"})
    ask(client, slug="other")
    send()
    assert len(post.mails) == 2


def test_a_link_confirms_for_a_day(client: Client, page: StatusPage, post: SMTPReceiver) -> None:
    ask(client)
    send()
    Subscriber.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert b"This link has expired" in client.get(link(post)).content
    client.post(link(post), {"act": "confirm"})
    assert Subscriber.objects.get().confirmed_at is None
    tasks.prune()
    assert Subscriber.objects.exists()
    Subscriber.objects.update(expires_at=timezone.now() - timedelta(days=2))
    tasks.prune()
    assert not Subscriber.objects.exists()


def test_whoever_confirmed_while_their_address_was_sent_again_stays(
    client: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    # By the second request, which had read before they confirmed.
    Subscriber.objects.update(expires_at=timezone.now() - timedelta(days=3))
    tasks.prune()
    assert Subscriber.objects.exists()


def test_an_address_that_has_refused_nothing_is_not_forgotten_by_allowing_it(
    client: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    ask(client)
    send()
    for act in ("allow", "confirm"):
        client.post(link(post), {"act": act})
    assert Subscriber.objects.get().confirmed_at is not None


def test_strangers_cannot_flood_a_mailbox_a_page_or_the_form(
    client: Client, ada: User, page: StatusPage, post: SMTPReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(mailboxes.MAILS_A_DAY + 3):
        ask(client, f"rea.der+{number}@gmail.com")
        send()
    assert len(post.mails) == mailboxes.MAILS_A_DAY
    for number in range(subscribers.PER_SENDER[0]):
        ask(client, f"reader{number}@example.net")
    assert "Too many people asked" in ask(client)
    elsewhere = Client(REMOTE_ADDR="198.51.100.7")
    assert "Check your mail" in ask(elsewhere)
    monkeypatch.setattr(subscribers, "MOST", 3)
    assert "takes no more subscribers" in ask(elsewhere, "last@example.net")
    monkeypatch.setattr(subscribers, "PER_PAGE", (1, 86_400.0))
    assert "Too many people asked" in ask(Client(REMOTE_ADDR="198.51.100.8"))


def test_a_wrong_address_stays_in_the_form(client: Client, page: StatusPage) -> None:
    for wrong in ("reader", "reader@[127.0.0.1]", "r@example.net\nBcc: x@example.net"):
        answer = client.post("/status/ours/subscribe", {"address": wrong})
        assert answer.status_code == 422
    assert not Subscriber.objects.exists()
    page.enabled = False
    page.save()
    assert client.get("/status/ours/subscribe").status_code == 404


def test_its_owner_sees_and_removes_who_confirmed(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    ask(client, "other@example.net")
    path = f"/watches/pages/{page.id}/subscribers/"
    shown = browser.get(path).content.decode()
    assert READER in shown
    assert "other@example.net" not in shown
    assert "1 subscriber<" in browser.get(f"/watches/pages/{page.id}/").content.decode()
    bob = signed_in(make_user())
    one = Subscriber.objects.get(address=READER)
    assert bob.get(path).status_code == bob.post(path, {"remove": one.id}).status_code == 404
    browser.post(path, {"remove": one.id})
    assert not Subscriber.objects.filter(address=READER).exists()
    browser.post(f"/watches/pages/{page.id}/delete/")
    assert not Subscriber.objects.exists()
    assert not StatusMail.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_deleting_a_page_deletes_its_mails_without_loading_them(
    client: Client, ada: User, page: StatusPage, post: SMTPReceiver
) -> None:
    without = StatusPage.objects.create(user=ada, title="Without", slug="without")
    Subscriber.objects.create(page=without, address=READER, expires_at=timezone.now())
    ask(client)
    send()
    assert StatusMailAttempt.objects.count() == 1
    statements = []
    for one in (page, without):
        with CaptureQueriesContext(connection) as queries:
            status.delete(one)
        statements.append(len(queries))
    assert statements[0] == statements[1] + 4  # one more chunk: in a transaction, its mails are locked and deleted
    assert not StatusPage.objects.exists()
    assert not StatusMailAttempt.objects.exists()


def test_an_address_that_does_not_exist_is_forgotten(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    post.replies["RCPT"] = "550 5.1.1 No such mailbox"
    publish(browser, page)
    send()
    assert not Subscriber.objects.exists()
    assert not StatusMail.objects.filter(state="dead").exists()


def test_mails_are_in_the_owners_language(client: Client, ada: User, page: StatusPage, post: SMTPReceiver) -> None:
    User.objects.filter(id=ada.id).update(language="de")
    ask(client)
    send()
    assert subjects(post) == ["Bestätige dein Abonnement von „Our services“"]


def test_a_page_that_is_switched_off_mails_nobody(
    client: Client, browser: Client, page: StatusPage, post: SMTPReceiver
) -> None:
    subscribe(client, post)
    publish(browser, page)
    StatusPage.objects.update(enabled=False)
    send()
    mail = StatusMail.objects.get(what="opened")
    assert (len(post.mails), mail.state, mail.reason_code) == (1, "cancelled", "status-page-off")


def meanwhile(begun: Callable[[], object], act: Callable[[], object]) -> None:
    """Do `act` in another connection while the transaction of `begun` is open, which it waits for."""

    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            begun()
            other = pool.submit(run)
            wait_for_a_lock()
        other.result()


@pytest.fixture
def confirmed(page: StatusPage) -> tuple[Subscriber, PublicIncident]:
    reader = Subscriber.objects.create(page=page, address=READER, confirmed_at=Now())
    return reader, PublicIncident.objects.create(page=page, title="Payments are slow")


@pytest.mark.parametrize("first", ["publish", "stop"])
@pytest.mark.django_db(transaction=True)
def test_who_unsubscribes_at_the_moment_of_an_incident_hinders_neither(
    confirmed: tuple[Subscriber, PublicIncident], first: str
) -> None:
    reader, incident = confirmed
    publish, stop = partial(subscribers.tell, incident, StatusMail.Type.OPENED), partial(subscribers.stop, reader.id)
    meanwhile(publish, stop) if first == "publish" else meanwhile(stop, transaction.atomic(publish))
    assert not Subscriber.objects.exists()
    assert not StatusMail.objects.exists()


@pytest.mark.parametrize("deleted", ["incident", "page", "subscriber"])
@pytest.mark.django_db(transaction=True)
def test_what_is_deleted_while_a_worker_begins_a_mail_of_it_is_gone(
    confirmed: tuple[Subscriber, PublicIncident], page: StatusPage, deleted: str
) -> None:
    reader, incident = confirmed
    subscribers.tell(incident, StatusMail.Type.OPENED)
    mail = StatusMail.objects.get()
    delete = {
        "incident": partial(status.delete_incident, incident),
        "page": partial(status.delete, page),
        "subscriber": partial(subscribers.remove, reader.id),
    }
    meanwhile(partial(claim.claim, STATUS_MAIL, mail.id, "worker"), delete[deleted])
    assert not StatusMail.objects.exists()
    assert not StatusMailAttempt.objects.exists()
