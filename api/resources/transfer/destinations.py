"""Take over the channels, connections and inbound addresses of a file. They come without secrets, so unconfirmed."""

from datetime import datetime

from django.utils.translation import gettext as _

from api.protocol.problems import FieldError, errors, invalid, require_valid
from api.resources.events.inbound import InboundBody, document as inbound_document, form_of as inbound_form
from api.resources.transfer import entries
from api.resources.transfer.entries import Entry, Outcome
from events.inbound import addresses
from events.models import InboundAddress
from jobs import connections
from jobs.changes import connections as connection_changes
from jobs.models import Connection
from notifications import providers
from notifications.channels import changes
from notifications.channels.forms import ChannelForm, LabelForm
from notifications.messages.message import Destination
from notifications.models import Channel
from notifications.net import address_checks
from notifications.providers.base import HasForm
from people.models import User


class Destinations:
    """`channels` and `connections` are what the ids of the file stand for."""

    def __init__(self, user: User, now: datetime) -> None:
        self.user, self.now, self.outcome = user, now, Outcome()
        self.channels: dict[str, Channel] = {}
        self.connections: dict[str, Connection] = {}

    def _channels(self, entry: Entry) -> bool:
        kind, label, fields = entries.text(entry, "kind"), entries.text(entry, "label"), entries.fields(entry)
        for channel in Channel.objects.for_user(self.user):
            same = (channel.provider, channel.label, _shown(channel)) == (kind, label, fields)
            if str(channel.id) == entry.get("id") or same or channel.provider == kind == "inbox":
                self.channels[str(entry.get("id"))] = channel
                return False
        try:
            provider = providers.get(kind)
        except providers.UnknownProvider as error:
            raise invalid(FieldError("kind", str(error))) from None
        if provider.from_browser:
            raise invalid(FieldError("kind", _("Add this channel again in the browser that it is for.")))
        destination, is_whole = self._destination(provider, fields, label)
        channel = changes.add_at(self.user, kind, destination, label)
        form = ChannelForm({**entry, "label": channel.label}, channel, provider)
        require_valid(form)
        changes.change_settings(channel, **form.cleaned_data)
        if channel.verified_at is None or not is_whole:
            Channel.objects.filter(id=channel.id).update(verified_at=None)
            self.outcome.to_confirm.append(channel.label)
        self.channels[str(entry.get("id"))] = Channel.objects.get(id=channel.id)
        return True

    def _connections(self, entry: Entry) -> bool:
        kind_name, label, fields = entries.text(entry, "kind"), entries.text(entry, "label"), entries.fields(entry)
        if (kind := connections.find(kind_name)) is None:
            raise invalid(FieldError("kind", _("This installation has no such kind of connection.")))
        for one in Connection.objects.for_user(self.user):
            shown = kind.form_initial(Destination(one.address)) if one.kind == kind_name else None
            if str(one.id) == entry.get("id") or (one.label, shown) == (label, fields):
                self.connections[str(entry.get("id"))] = one
                return False
        destination, _is_whole = self._destination(kind, fields, label)
        made = connection_changes.add(self.user, kind, destination, label, checked=False)
        self.outcome.to_confirm.append(made.label)
        self.connections[str(entry.get("id"))] = made
        return True

    def _destination(self, kind: HasForm, fields: Entry, label: str) -> tuple[Destination, bool]:
        """Where the fields lead, without secrets that the file has not; and whether none is missing."""
        form, label_form = kind.form(fields), LabelForm({"label": label})
        address_checks.are_valid(self.user.pk, form, label_form, look=False)
        missing = [
            name for name, found in form.errors.as_data().items()
            if name not in fields and all(one.code == "required" for one in found)
        ]  # fmt: skip
        if wrong := [one for one in errors(form, "fields") if one.field.removeprefix("fields.") not in missing]:
            raise invalid(*wrong)
        require_valid(label_form)
        try:
            found = kind.destination(form.cleaned_data | dict.fromkeys(missing, ""))
        except (ValueError, TypeError, LookupError):  # the secret is all that it is made of
            return Destination({}), False
        return Destination(found.address, {name: one for name, one in found.secrets.items() if one}), not missing

    def _inbound(self, entry: Entry) -> bool:
        """Its address is a new one. Where requests are signed, it takes none before the secret is entered again."""
        body = entries.read(InboundBody, entry)
        compared = ("label", "scheme", "signature", "event")
        for one in map(inbound_document, InboundAddress.objects.for_user(self.user)):
            if one["id"] == entry.get("id") or all(one[name] == entry.get(name) for name in compared):
                return False
        if body.scheme != "none":
            self.outcome.to_confirm.append(body.label)
        addresses.create(self.user, inbound_form(body, InboundAddress(label=body.label, scheme=body.scheme)))
        return True


def _shown(channel: Channel) -> Entry:
    provider = providers.find(channel.provider)
    return provider.form_initial(Destination(channel.address)) if provider else {}
