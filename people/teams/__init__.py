"""Teams: accounts in which nobody signs in, and for which their members act.

A team is a row of `User`, so all that belongs to an account can belong to one. `Membership` says who may act for it,
and is read at each request (`people.middleware.ActingFor`) and each call (`people.tokens`). All changes of members hold
the team's lock.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db.models import F, QuerySet
from django.dispatch import Signal
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _

from common.database.encryption import hashed
from common.forms.not_possible import NotPossible
from common.redis import rate_limiter
from common.uuid7 import uuid7
from people.models import Invitation, Membership, Role, SecurityEvent, User
from people.sign_in import mailboxes, security_log
from people.user_lock import lock_in_transaction, lock_user

created = Signal()
"""A team was made: `user`."""
left = Signal()
"""A membership ends, or is a viewer's from now on, in its transaction: `person`, `team`."""

MOST_INVITATIONS = 20  # open ones of a team
_MAILS_A_DAY = 50  # to addresses that a person invites


def find_membership(person: User, team_id: int) -> Membership | None:
    """The membership by which the person may act for this team, with the team."""
    membership = (
        Membership.objects.select_related("team").filter(person=person, team=team_id, team__is_active=True).first()
    )
    if membership is not None:
        membership.person = person
        membership.team.acting = membership
    return membership


def of_person(person: User) -> QuerySet[Membership]:
    return Membership.objects.select_related("team").filter(person=person, team__is_active=True)


def members(team: User) -> QuerySet[Membership]:
    return Membership.objects.select_related("person").filter(team=team)


def recipients(team_id: int | None) -> QuerySet[Membership]:
    """Those whom the team's messages reach and who may answer them: its owners and members."""
    return Membership.objects.filter(team=team_id, person__is_active=True).exclude(role=Role.VIEWER)


def _refuse_another(person: User) -> None:
    """Raises NotPossible where the person cannot own one more team."""
    if of_person(person).filter(role=Role.OWNER).count() >= settings.MOST_TEAMS:
        text = _("“%(name)s” owns %(most)s teams, which is the limit. Delete one that is no longer needed.")
        raise NotPossible(text % {"name": person.get_short_name(), "most": settings.MOST_TEAMS})


def create(person: User, name: str, key: UUID | None = None) -> User:
    """Create a team with the person as its owner. Raises NotPossible, and IntegrityError where `key` has made one."""
    with lock_user(person):
        _refuse_another(person)
        team = User(email=_email(key or uuid7()), name=name, is_team=True)
        team.time_zone, team.language = person.time_zone, person.language
        team.set_unusable_password()
        team.save()
        Membership.objects.create(team=team, person=person, role=Role.OWNER)
        created.send(User, user=team)
    security_log.record(SecurityEvent.Type.TEAM_JOINED, person, team=name, role=Role.OWNER)
    return team


def find_made(person: User, key: UUID) -> User:
    """The team that they made as `key`. Raises Http404."""
    return get_object_or_404(User.objects.filter(members__person=person, is_active=True), email=_email(key))


def _email(key: UUID) -> str:
    """An address at which no mail arrives: nobody can reset a password with it."""
    return f"team-{key.hex}@team.invalid"


@contextmanager
def _locked(owner: Membership) -> Iterator[None]:
    """Lock the team. Raises NotPossible if `owner` is not an owner any more: another owner was faster."""
    with lock_user(owner.team):
        if not Membership.objects.filter(id=owner.id, role=Role.OWNER).exists():
            raise NotPossible(_("You are no longer an owner of this team."))
        yield


def change_role(owner: Membership, member_id: UUID, role: str) -> Membership | None:
    """Give a member of the owner's team another role. None: they have left. Raises NotPossible."""
    with _locked(owner):
        if (member := members(owner.team).filter(id=member_id).first()) is None or member.role == role:
            return member
        if member.is_owner:
            _keep_an_owner(member)
        elif role == Role.OWNER:
            _refuse_another(member.person)
        if role == Role.VIEWER:
            member.call_place = None
            member.overrides.all().delete()
        member.role = role
        member.save(update_fields=["role", "call_place"])
        if role == Role.VIEWER:
            left.send(Membership, person=member.person, team=owner.team)
    _record(SecurityEvent.Type.TEAM_ROLE, member, owner.team, by=owner.person_id)
    return member


def make_owner(member: Membership, by: User) -> bool:
    """By an operator, for a team whose owners are all switched off. False: one is not, or the member is."""
    with lock_user(member.team):
        active = members(member.team).filter(person__is_active=True)
        is_wanted = active.filter(id=member.id).exists() and not active.filter(role=Role.OWNER).exists()
        if is_wanted:
            member.role = Role.OWNER
            member.save(update_fields=["role"])
    if is_wanted:
        _record(SecurityEvent.Type.TEAM_ROLE, member, member.team, by=by.pk)
    return is_wanted


def remove(owner: Membership, member_id: UUID) -> Membership | None:
    """Remove a member from the owner's team. None: they have left. Raises NotPossible."""
    with _locked(owner):
        if (member := members(owner.team).filter(id=member_id).first()) is not None:
            _end(member)
    if member is not None:
        _record(SecurityEvent.Type.TEAM_LEFT, member, owner.team, by=owner.person_id)
    return member


def leave(member: Membership) -> None:
    """Raises NotPossible for the last owner."""
    with lock_user(member.team):
        if (current := Membership.objects.filter(id=member.id).first()) is not None:
            _end(current)
    _record(SecurityEvent.Type.TEAM_LEFT, member, member.team)


def leave_all(person: User) -> None:
    """Before the account ends, in its transaction. Raises NotPossible where the person is the last owner."""
    for membership in of_person(person).order_by("team_id"):
        lock_in_transaction(membership.team)
        if (current := Membership.objects.filter(id=membership.id).first()) is not None:
            _end(current)


def _end(member: Membership) -> None:
    if member.is_owner:
        _keep_an_owner(member)
    member.delete()
    left.send(Membership, person=member.person, team=member.team)


def _keep_an_owner(member: Membership) -> None:
    others = members(member.team).filter(role=Role.OWNER, person__is_active=True).exclude(id=member.id)
    if not others.exists():
        text = _("“%(team)s” would have no owner. Make somebody else an owner first, or delete the team.")
        raise NotPossible(text % {"team": member.team.name})


def invite(owner: Membership, role: str, address: str = "") -> tuple[Invitation, str]:
    """Invite one person. Returns the invitation and the secret of its link. Raises NotPossible."""
    secret = secrets.token_urlsafe(30)
    row = Invitation(team=owner.team, made_by=owner.person, role=role, address=address.lower(), hashed=hashed(secret))
    row.expires_at = timezone.now() + Invitation.LIFE
    if address and not rate_limiter.allows(f"invites:{owner.person_id}", _MAILS_A_DAY, 86_400.0):
        text = _("You have invited %(most)s addresses within a day, which is the limit. Give somebody a link.")
        raise NotPossible(text % {"most": _MAILS_A_DAY})
    with _locked(owner):
        if open_invitations(owner.team).count() >= MOST_INVITATIONS:
            text = _("%(most)s invitations are open, which is the limit. Withdraw one.")
            raise NotPossible(text % {"most": MOST_INVITATIONS})
        if address:
            confirmed = EmailAddress.objects.filter(email=row.address, verified=True).values("user")
            if members(owner.team).filter(person__in=confirmed).exists():
                raise NotPossible(_("This person is a member already."))
            Invitation.objects.filter(team=owner.team, address=row.address).delete()  # the new one is valid
        row.save(force_insert=True)
    return row, secret


def _open() -> QuerySet[Invitation]:
    """Those of present owners: who is removed could let themself in again."""
    by_owner = {"made_by__memberships__team": F("team"), "made_by__memberships__role": Role.OWNER}
    return Invitation.objects.filter(expires_at__gt=timezone.now(), made_by__is_active=True, **by_owner)


def open_invitations(team: User) -> QuerySet[Invitation]:
    return _open().filter(team=team)


def withdraw(owner: Membership, invitation_id: UUID) -> bool:
    with _locked(owner):
        return bool(Invitation.objects.filter(team=owner.team, id=invitation_id).delete()[0])


def invitations_of(person: User) -> QuerySet[Invitation]:
    """The open invitations to addresses that the person has confirmed."""
    confirmed = EmailAddress.objects.filter(user=person, verified=True).values("email")
    rows = _open().select_related("team", "made_by").filter(team__is_active=True)
    return rows.filter(address__in=confirmed).exclude(address="")


def find_invitation(person: User, secret: str) -> Invitation | None:
    """The open invitation with this secret, if it is for everybody who has the link, or for an address of theirs."""
    invitation = _open().select_related("team", "made_by").filter(hashed=hashed(secret), team__is_active=True).first()
    if invitation is None or (invitation.address and not mailboxes.is_confirmed(invitation.address, person)):
        return None
    return invitation


def accept(person: User, invitation: Invitation) -> Membership:
    """Make the person a member, once. Raises NotPossible where somebody was faster, or the team is full."""
    with lock_user(person), lock_user(invitation.team):
        if (existing := members(invitation.team).filter(person=person).first()) is not None:
            return existing
        if invitation.role == Role.OWNER:
            _refuse_another(person)
        if not _open().filter(id=invitation.id).delete()[0]:
            raise NotPossible(_("This invitation is no longer valid. Ask for another one."))
        if members(invitation.team).count() >= settings.MOST_MEMBERS:
            raise NotPossible(_("The team has %(most)s members, which is the limit.") % {"most": settings.MOST_MEMBERS})
        member = Membership.objects.create(team=invitation.team, person=person, role=invitation.role)
    _record(SecurityEvent.Type.TEAM_JOINED, member, invitation.team)
    return member


def _record(event: SecurityEvent.Type, member: Membership, team: User, **detail: Any) -> None:
    security_log.record(event, member.person, team=team.name, role=member.role, **detail)
