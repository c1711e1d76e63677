"""Digests: the events of a rule that are told together."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from events.models.rule import Rule
from work.models import Attempt, Words, Work

WORDS = Words(working="sending", done="sent", key="digest")


class Digest(Work):
    """The events of one rule that are told together, once it is `available_at`; its entries are their effects.

    `type_pattern` is the rule's when it was opened; `key_value` is what they have in the rule's `digest_key`, empty for
    none. Events are added until it has the rule's `digest_count` (`is_full`) or is claimed; the next one opens another
    digest. `gathered` counts them, and `hops` is the highest of theirs.
    """

    words = WORDS

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="digests")
    rule = models.ForeignKey(Rule, on_delete=models.CASCADE, related_name="+")
    type_pattern = models.CharField(max_length=100)
    key_value = models.CharField(max_length=200, blank=True)
    gathered = models.PositiveIntegerField(default=1)
    is_full = models.BooleanField(default=False)
    hops = models.PositiveSmallIntegerField(default=0)
    # Without a constraint: a notification may be pruned before the digest is.
    notification_id = models.UUIDField(null=True, editable=False)

    class Meta(Work.Meta):
        verbose_name = _("digest")
        verbose_name_plural = _("digests")
        indexes = [
            *WORDS.indexes(),
            # the way back from a notification
            models.Index(
                fields=["notification_id"], condition=Q(notification_id__isnull=False), name="digest_of_notification"
            ),
        ]
        constraints = [
            *WORDS.constraints(),
            # One that was claimed, even if it was given back or failed, takes no more events, and hinders no next one.
            models.UniqueConstraint(
                fields=["rule", "key_value"],
                condition=Q(state="pending", tries=0, released=0, replays=0, is_full=False),
                name="digest_one_open",
            ),
        ]
        triggers = WORDS.triggers()

    def __str__(self) -> str:
        return f"{self.gathered} for {self.rule_id}"


class DeadDigest(Digest):
    """A digest that is a dead letter, with its own list and permissions in the admin."""

    class Meta:
        proxy = True
        verbose_name = _("failed digest")


class DigestAttempt(Attempt):
    digest = models.ForeignKey(Digest, on_delete=models.CASCADE, related_name="history", db_index=False)

    class Meta(Attempt.Meta):
        constraints = WORDS.attempt_constraints()
        triggers = WORDS.attempt_triggers()
