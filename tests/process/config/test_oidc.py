"""Sign-in by OpenID Connect, against oidc-provider, which the OpenID Foundation has certified."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import unescape
from pathlib import Path
from typing import Any, ClassVar, cast

import httpx
import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings

from config.embedded.var import var_dir
from notifications.models import Channel
from people.models import SecurityEvent, User
from tests.make import make_user
from tests.process.web import Web

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
]

PASSWORD = "correct horse battery staple"


@pytest.fixture(scope="session")
def program() -> Path:
    """The provider, with the packages of its lock file."""
    folder = var_dir() / "oidc"
    shutil.copytree(settings.BASE_DIR / "tests/oidc", folder, dirs_exist_ok=True)
    installed = folder / "installed.json"
    lock = (folder / "package-lock.json").read_bytes()
    if not installed.exists() or installed.read_bytes() != lock:
        command = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        subprocess.run(command, cwd=folder, check=True)
        installed.write_bytes(lock)
    return folder / "provider.mjs"


@contextmanager
def provider(program: Path, callback: str) -> Iterator[str]:
    """Its issuer."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    command = ["node", str(program), callback]
    with subprocess.Popen(command, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.fixture(scope="module")
def served(program: Path, django_db_setup: None) -> Iterator[tuple[Web, str]]:
    """With the address of the provider."""
    web = Web(LANG="C")
    with provider(program, f"http://127.0.0.1:{web.port}/account/oidc/callback/") as issuer:
        url = issuer.replace("//", "//carillon:a%20secret%3A%20of%2Fboth@")
        variables(web).update(OIDC_URL=url, SIGN_UP="on")
        with web:
            yield web, url


@pytest.fixture
def web(served: tuple[Web, str], broker: object) -> Iterator[Web]:
    with ExitStack() as Browser.opened:
        yield serve(*served, sign_up="on")


@pytest.fixture
def closed(served: tuple[Web, str], broker: object) -> Iterator[Web]:
    """Nobody can sign up."""
    with ExitStack() as Browser.opened:
        yield serve(*served, sign_up="off")


def serve(web: Web, url: str, sign_up: str) -> Web:
    """Start the web process again, unless it has these variables."""
    wanted = {"OIDC_URL": url, "SIGN_UP": sign_up}
    if not wanted.items() <= variables(web).items():
        variables(web).update(wanted)
        web.restart()
    return web


def variables(web: Web) -> dict[str, str]:
    return cast(dict[str, str], web.child.environment)


class Browser:
    opened: ClassVar[ExitStack]

    def __init__(self, web: Web) -> None:
        self.origin = f"http://127.0.0.1:{web.port}"
        self.client = self.opened.enter_context(httpx.Client(follow_redirects=True, timeout=60))

    def open(self, path: str = "/account/login/") -> httpx.Response:
        return self.client.get(f"{self.origin}{path}")

    def send(self, page: httpx.Response, form: str, **values: str) -> httpx.Response:
        """Send the form whose action begins with `form`, with its hidden fields."""
        [(action, body)] = re.findall(rf'<form[^>]*action="([^"]*{form}[^"]*)"(.*?)</form>', page.text, re.DOTALL)
        inputs = re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", body)
        fields = {re.findall(r'name="([^"]*)"', one)[0]: re.findall(r'value="([^"]*)"', one)[0] for one in inputs}
        headers = {"Referer": str(page.url)}
        return self.client.post(page.url.join(unescape(action)), data=fields | values, headers=headers)

    def sign_in(self, email: str) -> httpx.Response:
        """By the button: at the provider, its password and its consent."""
        return self.at_provider(self.send(self.open(), "/account/oidc/begin/"), email)

    def at_provider(self, page: httpx.Response, email: str) -> httpx.Response:
        page = self.send(page, "/interaction/", login=email, password="any")
        return self.send(page, "/interaction/")

    def is_signed_in(self) -> bool:
        return self.open("/settings/").url.path == "/settings/"


def person(email: str, verified: bool = True) -> User:
    user = make_user(email=email, password=PASSWORD)
    EmailAddress.objects.create(user=user, email=email, primary=True, verified=verified)
    return user


def linked() -> list[Any]:
    return list(SocialAccount.objects.values_list("user__email", flat=True))


def test_a_new_person_gets_an_account_and_an_old_one_is_linked(web: Web) -> None:
    grace = person("grace@example.org")
    for email in ("ada@example.org", "grace@example.org", "ada@example.org"):
        browser = Browser(web)
        browser.sign_in(email)
        assert browser.is_signed_in(), email
    ada = User.objects.get(email="ada@example.org")
    assert (ada.name, ada.has_usable_password()) == ("Ada", False)
    assert EmailAddress.objects.get(user=ada).verified
    assert Channel.objects.filter(user=ada, provider="inbox").exists()
    assert sorted(linked()) == ["ada@example.org", "grace@example.org"]
    grace.refresh_from_db()
    assert grace.check_password(PASSWORD)
    assert SecurityEvent.objects.filter(user=grace, type=SecurityEvent.Type.SIGNED_IN).exists()
    assert User.objects.count() == 2


def test_what_is_refused_says_why(web: Web) -> None:
    person("squatted@example.org", verified=False)
    off = person("off@example.org")
    User.objects.filter(pk=off.pk).update(is_active=False)
    for email, words in {
        "squatted@example.org": "An account has your email address, unconfirmed.",
        "unconfirmed@example.org": "does not say that your email address is confirmed",
        "off@example.org": "This account is switched off.",
    }.items():
        browser = Browser(web)
        assert words in unescape(browser.sign_in(email).text), email
        assert not browser.is_signed_in()
    assert linked() == []
    browser = Browser(web)
    page = browser.send(browser.open(), "/account/oidc/begin/")
    refused = browser.open("/account/oidc/callback/?error=access_denied&state=stolen")
    assert "did not sign you in" in refused.text
    assert page.url.port != web.port


def test_who_has_no_password_cannot_end_the_link(web: Web) -> None:
    browser = Browser(web)
    browser.sign_in("ada@example.org")
    page = browser.send(browser.open("/settings/oidc/"), "/settings/oidc/", unlink="")
    assert "You have no password here." in page.text
    assert linked() == ["ada@example.org"]


def test_a_person_links_an_account_of_another_address_and_ends_the_link(closed: Web) -> None:
    grace = person("grace@example.org")

    def by_password(email: str) -> tuple[Browser, httpx.Response]:
        browser = Browser(closed)
        browser.send(browser.open(), "/account/login/", login=email, password=PASSWORD)
        return browser, browser.open("/settings/oidc/")

    browser, page = by_password(grace.email)
    assert "No account at" in page.text
    page = browser.at_provider(browser.send(page, "/settings/oidc/"), "other@example.org")
    assert "The account is linked." in page.text
    assert page.url.path == "/settings/oidc/"
    guest = Browser(closed)
    guest.sign_in("other@example.org")
    assert grace.email in guest.open("/settings/").text
    ada, page = by_password(person("ada@example.org").email)
    page = ada.at_provider(ada.send(page, "/settings/oidc/"), "other@example.org")
    assert "Another person here is linked to that account." in page.text
    assert "The link is ended." in browser.send(browser.open("/settings/oidc/"), "/settings/oidc/", unlink="").text
    assert linked() == []
    assert "Sign-up is closed" in Browser(closed).sign_in("other@example.org").text
    events = SecurityEvent.objects.filter(type__in=[SecurityEvent.Type.LINKED, SecurityEvent.Type.UNLINKED])
    assert sorted(events.values_list("user__email", "type")) == [(grace.email, "linked"), (grace.email, "unlinked")]


def test_sign_up_may_be_closed_and_a_provider_that_is_gone_leaves_passwords(closed: Web) -> None:
    person("grace@example.org")
    assert "Sign-up is closed" in Browser(closed).sign_in("ada@example.org").text
    browser = Browser(closed)
    browser.sign_in("grace@example.org")
    assert browser.is_signed_in()
    serve(closed, re.sub(r":\d+$", ":9", variables(closed)["OIDC_URL"]), sign_up="off")
    browser = Browser(closed)
    assert "The provider does not answer." in browser.send(browser.open(), "/account/oidc/begin/").text
    serve(closed, "", sign_up="off")
    browser = Browser(closed)
    assert "/account/oidc/" not in browser.open().text
    browser.send(browser.open(), "/account/login/", login="grace@example.org", password=PASSWORD)
    assert browser.is_signed_in()
    grace = User.objects.get(email="grace@example.org")
    assert linked() == [grace.email]
