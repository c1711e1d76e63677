"""Secret addresses to which other services post, and the last that they posted."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.database import encryption
from common.database.triggers import refuse_unreadable
from common.models import DatedRow, Row
from events.pure import schemes
from people.models.owned import OwnedQuerySet
from work.models import Reasoned


class InboundAddress(DatedRow):
    """An address whose posts become events of its person.

    `hashed` finds it by the secret part of its address; `sealed_secrets` holds that part (`token`) and the secret of
    its scheme (`secret`). `options` are those of `schemes.Hmac`, `fields` the expressions of an event's fields.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="inbound_addresses", db_index=False
    )
    label = models.CharField(_("label"), max_length=80)
    hashed = models.CharField(max_length=64, unique=True, editable=False)
    sealed_secrets = models.TextField(editable=False)
    scheme = models.CharField(max_length=16, default="none")
    options = models.JSONField(default=dict, blank=True)
    fields = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(_("enabled"), default=True)

    objects: ClassVar[models.Manager[InboundAddress]] = OwnedQuerySet.as_manager()

    class Meta:
        verbose_name = _("inbound address")
        verbose_name_plural = _("inbound addresses")
        ordering = ["-id"]
        indexes = [models.Index(fields=["user", "-id"], name="inbound_of_person")]
        triggers = [refuse_unreadable("created_at", objects=["options", "fields"])]

    def __str__(self) -> str:
        return self.label

    @property
    def scheme_label(self) -> str:
        return str(schemes.SCHEMES[self.scheme][0]) if self.scheme in schemes.SCHEMES else self.scheme

    @property
    def needs_secret(self) -> bool:
        """Whether it answers 503 until its owner has entered a secret that can be read and is long enough."""
        try:
            return not schemes.is_enough(self.scheme, self.secrets().get("secret", ""))
        except encryption.Unreadable:
            return True

    def secrets(self) -> dict[str, str]:
        """Raises `encryption.Unreadable`."""
        return encryption.unseal_secrets(self.sealed_secrets, self.id)


class InboundRequest(Reasoned, Row):
    """One of the last requests to an address, as it came, without the headers that hold secrets.

    `event_keys` are the keys of the events that it became; `reason_code` why it was refused or not fully understood.
    """

    address = models.ForeignKey(InboundAddress, on_delete=models.CASCADE, related_name="requests", db_index=False)
    at = models.DateTimeField(db_default=Now(), editable=False)
    status = models.PositiveSmallIntegerField(_("status"))
    headers = models.JSONField(default=dict)
    body = models.TextField(_("body"), blank=True)
    event_keys = models.JSONField(default=list)

    class Meta:
        verbose_name = _("inbound request")
        verbose_name_plural = _("inbound requests")
        ordering = ["-id"]
        indexes = [models.Index(fields=["address", "-id"], name="inbound_request_of_address")]
        triggers = [refuse_unreadable("at", arrays=["event_keys"], json=["headers", "reason_params"])]

    def __str__(self) -> str:
        return f"{self.status} at {self.at}"
