"""Staff do not make themselves more than they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client, RequestFactory

from common.admin import rights
from events.models import InboundAddress, InboundRequest
from notifications.models import Channel, Delivery
from people import teams
from people.models import Membership, SecurityEvent, User
from tests.make import NOON, make_channel, make_delivery, make_schedule, make_user
from work.models import Intervention


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


def test_the_page_of_a_person_shows_all_instants_alike(operator: Client) -> None:
    person = make_user(last_login=NOON)
    assert operator.get(f"/admin/people/user/{person.pk}/change/").content.count(b"<time ") == 2


def test_an_operator_makes_an_owner_only_where_none_is_active(operator: Client) -> None:
    ada = make_user()
    team = teams.create(ada, "Family")
    member, off = [
        Membership.objects.create(team=team, person=make_user(is_active=active), role="viewer")
        for active in (True, False)
    ]
    asked = {"action": "make_owner", "_selected_action": [str(member.pk), str(off.pk)]}
    operator.post("/admin/people/membership/", asked)
    assert set(team.members.values_list("role", flat=True)) == {"owner", "viewer"}
    page = operator.get("/admin/people/membership/").content.decode()
    assert "Family (team)" in page
    assert team.email not in page
    User.objects.filter(pk=ada.pk).update(is_active=False)
    assert "1 made an owner" in operator.post("/admin/people/membership/", asked, follow=True).content.decode()
    member.refresh_from_db()
    off.refresh_from_db()
    assert (member.role, off.role) == ("owner", "viewer")
    assert SecurityEvent.objects.filter(type="team-role", user=member.person).count() == 1


def test_the_first_page_names_the_places_in_the_order_of_work_and_only_those_that_one_may_see(
    client: Client, clerk: User
) -> None:
    page = client.get("/admin/").content.decode()
    assert "/admin/people/user/" in page
    assert "/admin/notifications/deadletter/" not in page


def test_an_operator_finds_every_place_in_the_order_of_work(operator: Client) -> None:
    page = operator.get("/admin/").content.decode()
    main = page[page.rindex("/admin/notifications/deadletter/") :]
    order = ["deadletter", "schedule/", "occurrence", "notification/", "delivery", "user", "channel", "periodictask"]
    places = [main.index(f"/{place}") for place in order]
    assert places == sorted(places)


# Nobody acts through the admin on an account that has more rights than they have.

ADDRESSES = "/admin/account/emailaddress"


def give(person: User, *codenames: str) -> None:
    person.user_permissions.add(*Permission.objects.filter(codename__in=codenames))


def in_group(person: User, *codenames: str) -> None:
    group = Group.objects.create(name=f"group of {person.pk}")
    group.permissions.set(Permission.objects.filter(codename__in=codenames))
    person.groups.add(group)


STRONGER: dict[str, Callable[[], User]] = {
    "a superuser": lambda: make_user(is_staff=True, is_superuser=True),
    "a superuser who is no staff": lambda: make_user(is_superuser=True),
    "an inactive superuser": lambda: make_user(is_superuser=True, is_active=False),
    "other staff": lambda: make_user(is_staff=True),
}


def stronger(kind: str) -> User:
    if kind in STRONGER:
        return STRONGER[kind]()
    person = make_user(is_active=not kind.endswith("inactive"))
    (in_group if "group" in kind else give)(person, "change_channel")
    return person


KINDS = [*STRONGER, "more permissions", "more permissions by a group", "more permissions, inactive"]


@pytest.mark.parametrize("kind", KINDS)
def test_staff_act_on_no_account_with_more_rights(client: Client, clerk: User, kind: str) -> None:
    give(clerk, "add_emailaddress", "delete_emailaddress", "delete_authenticator", "change_authenticator")
    victim = stronger(kind)
    own = EmailAddress.objects.create(user=clerk, email="clerk@example.org", verified=True, primary=True)
    theirs = EmailAddress.objects.create(user=victim, email=victim.email, verified=True, primary=True)
    app = Authenticator.objects.create(user=victim, type="totp", data={"secret": "x"})
    before = [list(model.objects.order_by("pk").values()) for model in (User, EmailAddress, Authenticator)]
    address = {"user": victim.pk, "email": "clerk2@example.org", "verified": "on"}
    password = {"password1": "new-bell-43", "password2": "new-bell-43", "usable_password": "true"}
    for path, fields in [
        (f"{ADDRESSES}/add/", address),
        (f"{ADDRESSES}/{own.pk}/change/", address | {"email": own.email, "primary": "on"}),
        (f"{ADDRESSES}/{theirs.pk}/change/", address),
        (f"{ADDRESSES}/{theirs.pk}/change/", address | {"user": clerk.pk}),
        (f"{ADDRESSES}/{theirs.pk}/delete/", {"post": "yes"}),
        (f"/admin/people/user/{victim.pk}/change/", {"email": "clerk2@example.org", "is_active": "on"}),
        (f"/admin/people/user/{victim.pk}/password/", password),
        (f"/admin/mfa/authenticator/{app.pk}/change/", {"type": "totp"}),
        (f"/admin/mfa/authenticator/{app.pk}/delete/", {"post": "yes"}),
    ]:
        client.post(path, fields)
    assert [list(model.objects.order_by("pk").values()) for model in (User, EmailAddress, Authenticator)] == before


def test_the_owner_offered_for_an_address_is_one_that_staff_may_act_on(client: Client, clerk: User) -> None:
    give(clerk, "add_emailaddress")
    root = make_user(is_superuser=True)
    fields = {"user": root.pk, "email": "clerk2@example.org"}
    assert list(client.post(f"{ADDRESSES}/add/", fields).context["adminform"].form.errors) == ["user"]
    person = make_user()
    assert client.post(f"{ADDRESSES}/add/", fields | {"user": person.pk}).status_code == 302
    assert EmailAddress.objects.get().user == person


def test_staff_still_help_people_who_are_no_staff(client: Client, clerk: User) -> None:
    person = make_user()
    give(person, "view_user")  # no more than the clerk has
    page = f"/admin/people/user/{person.pk}"
    client.post(f"{page}/change/", {"email": "new@example.org", "name": "New", "is_active": "on"})
    password = {"password1": "new-bell-43", "password2": "new-bell-43", "usable_password": "true"}
    client.post(f"{page}/password/", password)
    person.refresh_from_db()
    assert (person.email, person.check_password("new-bell-43")) == ("new@example.org", True)


def test_only_a_superuser_says_that_an_address_is_confirmed(client: Client, clerk: User) -> None:
    give(clerk, "add_emailaddress")
    person = make_user()
    client.post(f"{ADDRESSES}/add/", {"user": clerk.pk, "email": "elsewhere@example.org", "verified": "on"})
    assert not EmailAddress.objects.get(email="elsewhere@example.org").verified
    theirs = EmailAddress.objects.create(user=person, email=person.email, verified=True)
    page = f"{ADDRESSES}/{theirs.pk}/change/"
    client.post(page, {"email": person.email, "primary": "on"})
    theirs.refresh_from_db()
    assert (theirs.verified, theirs.primary) == (True, True)
    client.post(page, {"email": "elsewhere2@example.org", "primary": "on"})
    theirs.refresh_from_db()
    assert (theirs.email, theirs.verified) == ("elsewhere2@example.org", False)


def test_nobody_moves_an_address_to_another_person(operator: Client) -> None:
    address = EmailAddress.objects.create(user=make_user(), email="a@example.org", verified=True)
    page = f"{ADDRESSES}/{address.pk}/change/"
    operator.post(page, {"user": make_user().pk, "email": address.email, "verified": "on", "primary": "on"})
    after = EmailAddress.objects.get()
    assert (after.user_id, after.primary) == (address.user_id, True)


def test_staff_give_themselves_no_permissions_by_a_group(client: Client, clerk: User) -> None:
    give(clerk, "add_group", "change_group", "delete_group", "view_group")
    group = Group.objects.create(name="Clerks")
    clerk.groups.add(group)
    every = [str(pk) for pk in Permission.objects.values_list("pk", flat=True)]
    for path, fields in [
        (f"{group.pk}/change/", {"name": "Clerks", "permissions": every}),
        ("add/", {"name": "More", "permissions": every}),
        (f"{group.pk}/delete/", {"post": "yes"}),
    ]:
        assert client.post(f"/admin/auth/group/{path}", fields).status_code == 403
    assert list(Group.objects.values_list("name", "permissions")) == [("Clerks", None)]


def test_a_superuser_edits_groups_and_addresses(operator: Client) -> None:
    root = make_user(is_superuser=True)
    added = operator.post(f"{ADDRESSES}/add/", {"user": root.pk, "email": "r@example.org", "verified": "on"})
    assert added.status_code == 302
    assert EmailAddress.objects.get(user=root).verified
    assert operator.post("/admin/auth/group/add/", {"name": "Clerks"}).status_code == 302


@pytest.mark.parametrize("kind", STRONGER)
@pytest.mark.parametrize("across", ["0", "1"], ids=["chosen", "all of the list"])
def test_actions_of_lists_leave_rows_of_accounts_with_more_rights(
    client: Client, clerk: User, kind: str, across: str
) -> None:
    give(clerk, "change_schedule", "change_channel")
    channel = make_channel(stronger(kind))
    schedule = make_schedule(channel.user, [channel])
    for page, action, row in [
        ("schedules/schedule", "pause", schedule.pk),
        ("notifications/channel", "disable", channel.pk),
    ]:
        asked = {"action": action, "_selected_action": [str(row)], "select_across": across}
        client.post(f"/admin/{page}/", asked | {"reason": "Why not", "answered": "1"})
    schedule.refresh_from_db()
    channel.refresh_from_db()
    assert (schedule.state, channel.disabled_at) == ("active", None)


def test_actions_of_lists_hold_for_people_who_are_no_staff(client: Client, clerk: User) -> None:
    give(clerk, "change_schedule", "view_schedule")
    schedule, other = make_schedule(make_user()), make_schedule(make_user(is_superuser=True))
    page, chosen = "/admin/schedules/schedule/", {"action": "pause", "_selected_action": [str(schedule.pk)]}
    both = chosen | {"_selected_action": [str(other.pk), str(schedule.pk)]}
    assert client.post(page, both).status_code == 403
    assert client.post(page, chosen).status_code == 302
    schedule.refresh_from_db()
    assert schedule.state == "paused"


DEAD = "/admin/notifications/deadletter/"


@pytest.mark.parametrize("action", ["replay", "send_as_new", "discard", "mark_fixed"])
def test_staff_act_on_no_dead_letters_of_an_account_with_more_rights(client: Client, clerk: User, action: str) -> None:
    give(clerk, "view_deadletter", "change_deadletter")
    theirs = make_delivery(make_channel(make_user(is_superuser=True), "email"), state="dead", reason="No such box.")
    fields = {"action": action, "confirmed": "yes", "reason": "Mine now.", "_selected_action": [str(theirs.pk)]}
    before = list(Delivery.objects.values())
    assert client.post(DEAD, fields).status_code == 403
    client.post(DEAD, fields | {"select_across": "1"})
    for button in ("replay", "discard", "fixed", "send-as-new"):
        client.post(f"{DEAD}{theirs.pk}/{button}/", fields)
    for page in ("try", "replay", "discard"):
        client.post(f"{DEAD}causes/{theirs.cause}/{page}/", fields | {"per_minute": "60"})
    assert list(Delivery.objects.values()) == before
    assert not Intervention.objects.exists()


def test_staff_act_on_the_dead_letters_of_people_who_are_no_staff_and_on_no_others_of_the_same_cause(
    client: Client, clerk: User
) -> None:
    give(clerk, "view_deadletter", "change_deadletter")
    root, person = make_user(is_superuser=True), make_user()
    theirs, fine = (make_delivery(make_channel(one, "email"), state="dead", reason="No.") for one in (root, person))
    assert theirs.cause == fine.cause
    client.post(f"{DEAD}causes/{fine.cause}/discard/", {"reason": "Gone."})
    assert [Delivery.objects.get(pk=row.pk).state for row in (theirs, fine)] == ["dead", "cancelled"]


def test_staff_act_on_no_request_to_an_address_of_an_account_with_more_rights(client: Client, clerk: User) -> None:
    """Its owner is two tables away."""
    address = InboundAddress.objects.create(user=make_user(is_superuser=True), label="CI", scheme="secret", hashed="x")
    row = InboundRequest.objects.create(address=address, status=200, headers={}, body="")
    request = RequestFactory().get("/")
    request.user = clerk
    assert not rights.may_act_on(request, row, admin.site._registry[InboundRequest].owner)


def test_an_admin_that_names_no_owner_is_refused_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not rights.check_owners()
    registered = admin.site._registry

    class Stock(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
        pass

    wrong = [(None, "E001"), ("", "E002"), ("channel", "E003"), ("nobody__user", "E003"), ("pk", "E003")]
    for model, owner, refused in [*((Channel, *one) for one in wrong), (User, "email", "E003")]:
        stock = Stock(model, admin.site)
        if owner is not None:
            stock.owner = owner  # type: ignore[attr-defined]  # what BaseAdmin declares
        with monkeypatch.context() as registering:
            registering.setitem(registered, model, stock)
            assert [(error.id, error.obj) for error in rights.check_owners()] == [(f"common.{refused}", model)], owner
