"""Staff do not make themselves more than they are."""

from __future__ import annotations

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import Permission
from django.test import Client

from people.models import User
from tests.make import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def clerk(client: Client) -> User:
    """May change people and their addresses, and is signed in."""
    staff = make_user(is_staff=True, email="clerk@example.org")
    codenames = ["change_user", "view_user", "change_emailaddress"]
    staff.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client.force_login(staff)
    return staff


def test_staff_cannot_make_themselves_superusers(client: Client, clerk: User) -> None:
    fields = {"email": clerk.email, "name": "Clerk", "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    assert client.post(f"/admin/people/user/{clerk.pk}/change/", fields).status_code == 302
    clerk.refresh_from_db()
    assert (clerk.name, clerk.is_staff, clerk.is_superuser) == ("Clerk", True, False)


def test_staff_cannot_take_over_a_superuser(client: Client, clerk: User) -> None:
    root = make_user(is_staff=True, is_superuser=True, email="root@example.org")
    address = EmailAddress.objects.create(user=root, email=root.email, verified=True, primary=True)
    page, mine = f"/admin/people/user/{root.pk}", {"email": "clerk2@example.org", "is_active": "on"}
    assert client.post(f"{page}/change/", mine).status_code == 403
    assert client.get(f"{page}/password/").status_code == 403
    changed = client.post(
        f"/admin/account/emailaddress/{address.pk}/change/", {"user": root.pk, "email": "x@example.org"}
    )
    assert changed.status_code == 403
    root.refresh_from_db()
    assert root.email == "root@example.org"


def test_a_superuser_makes_staff(operator: Client) -> None:
    person = make_user()
    fields = {"email": person.email, "name": "New clerk", "is_active": "on", "is_staff": "on"}
    assert operator.post(f"/admin/people/user/{person.pk}/change/", fields).status_code == 302
    assert User.objects.get(pk=person.pk).is_staff


def test_the_first_page_names_the_places_in_the_order_of_work_and_only_those_that_one_may_see(
    client: Client, clerk: User
) -> None:
    page = client.get("/admin/").content.decode()
    assert "/admin/people/user/" in page
    assert "/admin/notifications/deadletter/" not in page


def test_an_operator_finds_every_place_in_the_order_of_work(operator: Client) -> None:
    page = operator.get("/admin/").content.decode()
    main = page[page.rindex("/admin/notifications/deadletter/") :]
    order = ["deadletter", "delivery", "notification/", "occurrence", "schedule/", "channel", "user", "periodictask"]
    places = [main.index(f"/{place}") for place in order]
    assert places == sorted(places)
