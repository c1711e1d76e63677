"""Members of teams, and invitations to them."""

from datetime import time, timedelta

import pgtrigger
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.triggers import refuse_unreadable
from common.models import DatedRow, Row
from people.models.user import User


class Role(models.TextChoices):
    OWNER = "owner", _("Owner")
    MEMBER = "member", _("Member")
    VIEWER = "viewer", _("Viewer")


class Membership(Row):
    """A person in a team. Its end revokes the tokens that they made for the team, and ends its calendar address.

    Changed only while the team's row is locked; see `people.teams`.
    """

    person = models.ForeignKey(User, verbose_name=_("person"), on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(User, verbose_name=_("team"), on_delete=models.CASCADE, related_name="members")
    role = models.CharField(_("role"), max_length=6, choices=Role.choices)
    joined_at = models.DateTimeField(db_default=Now(), editable=False)
    # The place in the order of who is on call, null: never; and from when until when, on the team's clock.
    call_place = models.PositiveSmallIntegerField(null=True, blank=True)
    call_from = models.TimeField(null=True, blank=True)
    call_until = models.TimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["person", "team"], name="membership_once"),
            *checks.named(
                "membership",
                role=models.Q(role__in=Role.values),
                # Python cannot read PostgreSQL's 24:00.
                call_from=models.Q(call_from=None) | models.Q(call_from__lte=time.max),
                call_until=models.Q(call_until=None) | models.Q(call_until__lte=time.max),
            ),
        ]
        triggers = [
            refuse_unreadable("joined_at"),
            pgtrigger.Trigger(
                name="membership_ends_access",
                when=pgtrigger.After,
                operation=pgtrigger.Delete,
                func="""
                UPDATE people_apitoken SET revoked_at = now()
                 WHERE user_id = OLD.team_id AND member_id = OLD.person_id AND revoked_at IS NULL;
                DELETE FROM people_calendarfeed WHERE user_id = OLD.team_id;
                RETURN NULL;
                """,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} in {self.team_id}"

    @property
    def may_change(self) -> bool:
        return self.role != Role.VIEWER

    @property
    def is_owner(self) -> bool:
        return self.role == Role.OWNER

    def is_on_call_at(self, shown: time) -> bool:
        """Whether its times have this wall-clock time; without times, they have any."""
        begins, ends = self.call_from, self.call_until
        if begins is None or ends is None or begins == ends:
            return True
        return begins <= shown < ends if begins < ends else shown >= begins or shown < ends


class Invitation(DatedRow):
    """An invitation to a team, for one person, until `expires_at`.

    With an address it is for the account that has confirmed it; else for who has the link. Only the hash of the link's
    secret is stored.
    """

    LIFE = timedelta(days=7)

    team = models.ForeignKey(User, on_delete=models.CASCADE, related_name="invitations")
    made_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    address = models.EmailField(blank=True)
    role = models.CharField(max_length=6, choices=Role.choices)
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    expires_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["address"], condition=~models.Q(address=""), name="invitation_of_address"),
            models.Index(fields=["expires_at"], name="invitation_expired"),
        ]
        constraints = [models.CheckConstraint(condition=models.Q(role__in=Role.values), name="invitation_role")]
        triggers = [refuse_unreadable("created_at", "expires_at")]

    def __str__(self) -> str:
        return f"{self.address or 'a link'} to {self.team_id}"

    @property
    def is_expired(self) -> bool:
        return self.expires_at <= timezone.now()


class OnCall(models.Model):
    """How a team's order of who is on call moves on; see `teams.on_call`. The order itself is in the memberships.

    `minutes`: after so many without an answer, the next person is asked.
    """

    team = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="on_call")
    first = models.DateField(_("first day"))
    handover = models.TimeField(_("handover"), default=time(9))
    weekly = models.BooleanField(_("the first one changes every week"), default=True)
    minutes = models.PositiveSmallIntegerField(_("minutes until the next person is asked"), default=10)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(handover__lte=time.max), name="oncall_handover"),
            models.CheckConstraint(condition=models.Q(minutes__range=(1, 1440)), name="oncall_minutes"),
        ]
        triggers = [refuse_unreadable("first")]


class CallOverride(Row):
    """From one instant to another, this member is asked first."""

    member = models.ForeignKey(Membership, on_delete=models.CASCADE, related_name="overrides")
    begins_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        ordering = ["begins_at"]
        triggers = [refuse_unreadable("begins_at", "ends_at")]

    def __str__(self) -> str:
        return f"{self.member_id} from {self.begins_at}"
