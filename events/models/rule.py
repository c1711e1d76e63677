"""A person's rule in events: when something happens, do this."""

from __future__ import annotations

from datetime import time
from functools import cached_property
from typing import ClassVar
from uuid import UUID

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from common.database import checks
from common.database.triggers import update_of
from events.pure import types
from notifications.models import Channel, Sender, SenderQuerySet


def is_for(rule: str, type: str) -> str:
    """The SQL of whether a rule is for Carillon's own events of a type, by a row and a text in SQL."""
    pattern = f"{rule}.type_pattern"
    return f"""({rule}.enabled AND {rule}.deleted_at IS NULL AND {rule}.source IN ('', '{types.SOURCE}')
        AND ({pattern} = {type} OR (right({pattern}, 2) = '.*' AND starts_with({type}, left({pattern}, -1)))))"""


class Rule(Sender):
    """When an event of `type_pattern` (and `source`, if any) fulfils all `conditions`, say `title` and `body`.

    The pattern is a type, or its beginning before `.*`, or `*` for all but Carillon's own. A condition is `{"field",
    "operator", "value"}`, see `matching`. The texts may hold `{data.x}`. With `throttle_count`, it fires at most so
    often in `throttle_seconds`. With `digest_seconds` or `digest_at` (on the wall clock of its person), events are
    gathered, apart for each value of the field `digest_key` if there is one, and told together after so long, at that
    hour, or once there are `digest_count`; a throttle does not count them.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="rules", db_index=False)
    name = models.CharField(_("name"), max_length=80)
    type_pattern = models.CharField(max_length=100)
    source = models.CharField(_("source"), max_length=200, blank=True)
    conditions = models.JSONField(default=list, blank=True)
    title = models.CharField(_("title"), max_length=200)
    body = models.TextField(_("body"), blank=True)
    channels = models.ManyToManyField(Channel, related_name="rules", blank=True)
    escalate_after = models.PositiveIntegerField(null=True, blank=True)
    urgent = models.BooleanField(_("urgent"), default=False)
    throttle_count = models.PositiveIntegerField(null=True, blank=True)
    throttle_seconds = models.PositiveIntegerField(null=True, blank=True)
    digest_seconds = models.PositiveIntegerField(null=True, blank=True)
    digest_at = models.TimeField(null=True, blank=True)
    digest_count = models.PositiveIntegerField(null=True, blank=True)
    digest_key = models.CharField(max_length=200, blank=True)
    # Steps that follow the message, as `steps` reads them, until an event of this type with the same value of
    # this field.
    series = models.TextField(blank=True, db_default="")
    series_ends_on = models.CharField(max_length=100, blank=True, db_default="")
    series_key = models.CharField(max_length=200, blank=True, db_default="")
    enabled = models.BooleanField(_("enabled"), default=True)

    objects: ClassVar[models.Manager[Rule]] = SenderQuerySet["Rule"].as_manager()

    class Meta:
        verbose_name = _("rule")
        verbose_name_plural = _("rules")
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "-id"], condition=Q(deleted_at=None), name="rule_of_person")]
        constraints = checks.named(
            "rule",
            throttle_whole=Q(throttle_count=None, throttle_seconds=None)
            | Q(throttle_count__isnull=False, throttle_seconds__isnull=False)
            & Q(throttle_count__gte=1, throttle_seconds__gte=1),
            one_digest=Q(digest_seconds=None) | Q(digest_at=None),
            readable_conditions=checks.json("conditions", 4),
            readable_instants=checks.instants("created_at", "updated_at", nullable=("deleted_at",)),
            # Python cannot read PostgreSQL's 24:00; such a row would stop all rules of its person.
            readable_digest_at=Q(digest_at=None) | Q(digest_at__lte=time.max),
        )
        triggers = [
            # Changes of states are recorded for those who have a rule for them; see `followed`.
            pgtrigger.Trigger(
                name="rule_follows_changes",
                when=pgtrigger.After,
                operation=pgtrigger.Insert
                | update_of("type_pattern", "source", "enabled", "deleted_at")
                | pgtrigger.Delete,
                func=f"""
                IF TG_OP <> 'INSERT' THEN
                    DELETE FROM notifications_follower WHERE id = OLD.id;
                END IF;
                IF TG_OP <> 'DELETE' THEN
                    INSERT INTO notifications_follower (id, user_id)
                    SELECT NEW.id, NEW.user_id
                     WHERE EXISTS (SELECT FROM unnest('{{{",".join(types.FROM_CHANGES)}}}'::text[]) AS type
                                    WHERE {is_for("NEW", "type")});
                END IF;
                RETURN NULL;
                """,  # noqa: S608 - constants only
            )
        ]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def sends_to(self) -> list[tuple[UUID, str]]:
        """Its channels, each with its provider."""
        return [(channel.id, channel.provider) for channel in self.channels.all()]

    @property
    def link(self) -> SafeString:
        """Its name in quotes, which leads to its page unless it is deleted."""
        if self.deleted_at:
            return format_html("“{}”", self.name)
        return format_html('“<a href="{}">{}</a>”', reverse("events:rule", args=[self.id]), self.name)

    @property
    def digests(self) -> bool:
        return self.digest_seconds is not None or self.digest_at is not None
