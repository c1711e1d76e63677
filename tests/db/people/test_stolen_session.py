"""A stolen session does not become the account: changes ask again who it is, and the owner can undo them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.core import mail, signing
from django.db.models import F
from django.test import Client

from people import teams, tokens
from people.models import AddressChange, CalendarFeed, SecurityEvent, User
from people.sign_in import address_undo, mailboxes
from tests.authenticator import PASSWORD
from tests.make import make_user, signed_in

EMAIL = "/account/email/"
ASKS = "/account/reauthenticate/"
THIEFS = "thief@example.org"
OWNERS = "anna@example.org"


@pytest.fixture
def anna() -> User:
    user = make_user(email=OWNERS, password=PASSWORD)
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


@pytest.fixture
def thief(anna: User) -> Client:
    """Has the cookie alone."""
    return signed_in(anna)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (EMAIL, {"action_add": "", "email": THIEFS}),
        (EMAIL, {"action_primary": "", "email": "second@example.org"}),
        (EMAIL, {"action_remove": "", "email": "second@example.org"}),
        ("/settings/tokens/new/", {"label": "x", "scopes": ["read"], "lasts": "30"}),
        ("/settings/download/", {}),
        ("/settings/delete/", {"email": OWNERS}),
        ("/account/second-factor/totp/activate/", {"code": "1"}),
        ("/account/second-factor/webauthn/add/", {}),
    ],
)
def test_the_cookie_alone_changes_nothing(anna: User, thief: Client, path: str, fields: dict[str, Any]) -> None:
    EmailAddress.objects.create(user=anna, email="second@example.org", verified=True)
    before = list(EmailAddress.objects.order_by("pk").values())
    assert thief.post(path, fields)["Location"].startswith(ASKS)
    assert list(EmailAddress.objects.order_by("pk").values()) == before
    assert not tokens.valid_tokens(anna)


def test_the_cookie_alone_exports_nothing(thief: Client) -> None:
    assert thief.get("/settings/export/")["Location"].startswith(ASKS)
    assert thief.post("/settings/export/")["Location"].startswith(ASKS)


def test_the_cookie_of_staff_makes_no_account_and_changes_none(anna: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    anna.refresh_from_db()
    staff = signed_in(anna)
    fields = {"email": THIEFS, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    new = {"password1": "harbour-crane-77", "password2": "harbour-crane-77", "usable_password": "true"}
    for path, posted in [
        ("/admin/people/user/add/", fields | new),
        (f"/admin/people/user/{anna.pk}/change/", fields),
        (f"/admin/people/user/{anna.pk}/password/", new),
        ("/admin/account/emailaddress/add/", {"user": anna.pk, "email": THIEFS, "verified": "on"}),
    ]:
        assert staff.post(path, posted)["Location"].startswith(ASKS), path
    assert [(user.email, user.check_password(PASSWORD)) for user in User.objects.all()] == [(OWNERS, True)]
    staff.post(ASKS, {"password": PASSWORD})
    assert staff.post(f"/admin/people/user/{anna.pk}/change/", fields)["Location"] == "/admin/people/user/"


def links(pattern: str) -> list[str]:
    return re.findall(rf"https?://[^/]+({pattern}\S+)", "".join(str(one.body) for one in mail.outbox))


def test_the_cookie_alone_takes_no_step_towards_the_account(anna: User, thief: Client) -> None:
    for step in ({"action_add": "", "email": THIEFS}, {"action_primary": "", "email": THIEFS}):
        thief.post(EMAIL, step)
    thief.post(EMAIL, {"action_remove": "", "email": OWNERS})
    Client().post("/account/password/reset/", {"email": THIEFS})
    assert not links("/account/password/reset/key/") and not links("/account/confirm-email/")
    assert [(row.email, row.primary) for row in EmailAddress.objects.all()] == [(OWNERS, True)]


@pytest.mark.django_db(transaction=True)
def test_the_owner_ends_a_take_over_of_every_step_by_somebody_with_the_password(anna: User, thief: Client) -> None:
    thief.post(ASKS, {"password": PASSWORD})
    thief.post(EMAIL, {"action_add": "", "email": THIEFS})
    Client().post(links("/account/confirm-email/")[0])
    thief.post(EMAIL, {"action_primary": "", "email": THIEFS})
    [undo] = links("/address/undo/")
    thief.post(EMAIL, {"action_remove": "", "email": OWNERS})
    mail.outbox.clear()
    Client().post("/account/password/reset/", {"email": THIEFS})
    browser, new = Client(), {"password1": "thief-harbour-77", "password2": "thief-harbour-77"}
    browser.post(browser.get(links("/account/password/reset/key/")[0])["Location"], new)
    signed = Client()
    assert signed.post("/account/login/", {"login": THIEFS, "password": "thief-harbour-77"}).status_code == 302
    _, token = tokens.create(anna, "CI", ["read"], None)

    owner, own = Client(), {"password1": "owner-crane-88", "password2": "owner-crane-88"}
    owner.post(owner.get(owner.post(undo)["Location"])["Location"], own)
    assert (thief.get("/settings/").status_code, signed.get("/settings/").status_code) == (302, 302)
    assert tokens.find(token) is None
    for email, password, status in ((THIEFS, "thief-harbour-77", 200), (OWNERS, "owner-crane-88", 302)):
        assert Client().post("/account/login/", {"login": email, "password": password}).status_code == status
    mail.outbox.clear()
    Client().post("/account/password/reset/", {"email": THIEFS})
    assert not links("/account/password/reset/key/")


def take_over(client: Client, anna: User, new: str = THIEFS) -> str:
    """Change the primary address as somebody who also has the password. Returns the link in the owner's mail."""
    mail.outbox.clear()
    client.post(ASKS, {"password": PASSWORD})
    EmailAddress.objects.get_or_create(user=anna, email=new, defaults={"verified": True})
    client.post(EMAIL, {"action_primary": "", "email": new})
    anna.refresh_from_db()
    assert anna.email == new
    found = re.search(r"https?://\S+(/address/undo/\S+)", "".join(str(one.body) for one in mail.outbox))
    return found[1] if found else ""


def test_the_owner_gets_the_account_back_by_the_link_at_the_old_address(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    assert [one.to for one in mail.outbox] == [[OWNERS]]
    tokens.create(anna, "CI", ["read"], None)
    Authenticator.objects.create(user=anna, type="totp", data={"secret": "x"})
    SocialAccount.objects.create(user=anna, provider="oidc", uid="thief")
    CalendarFeed.objects.create(user=anna, hashed="x", sealed_secrets="x")
    membership = teams.find_membership(anna, teams.create(anna, "Family").pk)
    assert membership is not None
    _, of_team = tokens.create(membership.team, "CI", ["read"], None)
    owner = Client()
    assert OWNERS in owner.get(link).content.decode()
    anna.refresh_from_db()
    assert anna.email == THIEFS  # programs open links in mails
    answer = owner.post(link)
    assert answer["Location"].startswith("/account/password/reset/key/")
    anna.refresh_from_db()
    assert (anna.email, anna.has_usable_password()) == (OWNERS, False)
    assert [(row.email, row.primary, row.verified) for row in EmailAddress.objects.all()] == [(OWNERS, True, True)]
    assert thief.get("/settings/").status_code == 302
    assert not tokens.valid_tokens(anna)
    assert tokens.find(of_team) is None
    assert not Authenticator.objects.exists()
    assert not SocialAccount.objects.exists()
    assert not CalendarFeed.objects.exists()
    assert SecurityEvent.objects.filter(user=anna, type="address-restored").count() == 1
    form = owner.get(answer["Location"])["Location"]
    new = "harbour-crane-77"
    assert owner.post(form, {"password1": new, "password2": new}).status_code == 302
    assert Client().post("/account/login/", {"login": OWNERS, "password": new}).status_code == 302


def test_a_link_works_once(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    assert Client().post(link).status_code == 302
    assert (Client().get(link).status_code, Client().post(link).status_code) == (404, 404)


def test_a_link_works_for_seven_days(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    AddressChange.objects.update(at=F("at") - timedelta(days=6, hours=23))
    assert Client().get(link).status_code == 200
    AddressChange.objects.update(at=F("at") - timedelta(hours=1))
    assert (Client().get(link).status_code, Client().post(link).status_code) == (404, 404)


def test_a_forged_link_does_nothing(anna: User, thief: Client) -> None:
    take_over(thief, anna)
    pk = str(AddressChange.objects.get().pk)
    for key in (pk, signing.dumps(pk), signing.dumps(pk, salt="people.address_undo", key="other" * 10), "x:y:z"):
        assert Client().post(f"/address/undo/{key}/").status_code == 404
    anna.refresh_from_db()
    assert anna.email == THIEFS


def test_a_thief_gets_no_link_of_their_own(anna: User, thief: Client) -> None:
    owners = take_over(thief, anna)
    assert take_over(thief, anna, "thief2@example.org") == ""
    assert take_over(thief, anna, OWNERS) == ""
    assert Client().post(owners).status_code == 302


def test_an_undo_ends_the_links_of_later_changes(anna: User, thief: Client) -> None:
    first = take_over(thief, anna)
    later = AddressChange.objects.create(user=anna, old_email=THIEFS, new_email="third@example.org")
    link = f"/address/undo/{signing.dumps(str(later.pk), salt='people.address_undo')}/"
    Client().post(first)
    assert Client().post(link).status_code == 404
    anna.refresh_from_db()
    assert anna.email == OWNERS


def test_an_address_that_was_never_confirmed_gets_no_link(anna: User, thief: Client) -> None:
    """It may be a stranger's, mistyped."""
    EmailAddress.objects.update(verified=False)
    assert take_over(thief, anna) == ""


def test_a_factor_from_before_keeps_out_who_has_the_mailbox_only(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    Authenticator.objects.create(user=anna, type="totp", data={"secret": "x"})
    Authenticator.objects.update(created_at=F("created_at") - timedelta(days=1))
    Client().post(link)
    assert Authenticator.objects.filter(user=anna).exists()


def test_the_old_address_stays_with_its_account_while_it_may_come_back(anna: User, thief: Client) -> None:
    take_over(thief, anna)
    thief.post(EMAIL, {"action_remove": "", "email": OWNERS})
    assert EmailAddress.objects.filter(user=anna, email=OWNERS).exists()
    AddressChange.objects.update(at=F("at") - timedelta(days=8))
    thief.post(EMAIL, {"action_remove": "", "email": OWNERS})
    assert not EmailAddress.objects.filter(user=anna, email=OWNERS).exists()


def test_other_emails_do_not_use_up_the_limit_of_the_link(anna: User, thief: Client) -> None:
    while mailboxes.may_send(mailboxes.Purpose.NOTICE, mailboxes.mailbox(OWNERS)):
        pass
    assert take_over(thief, anna)


def test_an_account_that_an_operator_switched_off_stays_off(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    User.objects.update(is_active=False)
    assert Client().post(link).status_code == 404
    assert not User.objects.get().is_active


def test_an_address_that_somebody_else_has_by_now_is_not_taken_from_them(anna: User, thief: Client) -> None:
    link = take_over(thief, anna)
    EmailAddress.objects.filter(email=OWNERS).delete()
    other = make_user(email=OWNERS)
    assert Client().post(link).status_code == 404
    other.refresh_from_db()
    assert (other.email, address_undo._open().count()) == (OWNERS, 1)
