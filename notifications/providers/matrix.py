"""Matrix, on any homeserver (https://spec.matrix.org/latest/client-server-api/#sending-events-to-a-room)."""

import json
import re
from urllib.parse import quote

from django import forms
from django.utils.translation import gettext_lazy as _, gettext_noop

from notifications.messages import markup
from notifications.messages.markup import Style
from notifications.messages.message import Delivered, Destination, Message, Rejected
from notifications.messages.text import utf8
from notifications.net import post
from notifications.net.address_field import ServerField
from notifications.net.http import Response
from notifications.providers.base import Limits, PatternField, Provider, Rate, render
from notifications.reasons import DeliveryCode
from work.answers import Answer
from work.reasons import Reason

EXAMPLE = "https://matrix.example.org"

_MOST_BYTES = 60_000
"""Of the two forms of a text, in an event of at most 65,536 bytes; without its marks one is far below."""

_ROOM = re.compile(r"![^\s/?#]{1,250}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{8,500}")


class MatrixForm(forms.Form):
    server = ServerField(
        label=_("Homeserver"),
        example=EXAMPLE,
        max_length=300,
        help_text=_("As the settings of your Matrix app show it, under “Help & About”."),
        error_messages={"required": _("Enter the homeserver's address, such as https://matrix.example.org.")},
    )
    room = PatternField(
        _ROOM,
        _("A room id begins with an exclamation mark, such as !AbCdEf:example.org. An address with # is not one."),
        label=_("Room id"),
        max_length=255,
        help_text=_(
            "In the room's settings, under “Advanced”. Choose a room without encryption: Carillon's messages have none."
        ),
        error_messages={"required": _("Enter the room's id, such as !AbCdEf:example.org.")},
    )
    token = PatternField(
        _TOKEN,
        _("An access token is at least 8 letters, digits and the signs . _ ~ + / = -, such as syt_Ab12…"),
        secret=True,
        label=_("Access token"),
        max_length=500,
        help_text=_("Of an account that is in the room. Best one of its own, for Carillon alone."),
        error_messages={"required": _("Enter the access token of the account that writes, such as syt_Ab12…")},
    )

    def clean_server(self) -> str:
        """Return the homeserver's address, without the path of the API if that was pasted."""
        return str(self.cleaned_data["server"]).partition("/_matrix")[0]


class Matrix(Provider):
    """Sends plain text to a room, with HTML beside it where it has marks. The key is the transaction's id, by which the
    homeserver recognises a repeat.
    """

    kind = "matrix"
    label = "Matrix"
    about = _("Writes to a room on your homeserver, in the name of an account that you give it.")
    position = 55
    recognises_repeats = True
    # A whole event has at most 65,536 bytes, and JSON may write a byte of text as six.
    limits = Limits(body=10_000, measure=utf8, joined=True)
    style = Style(bullet="• ")  # of the plain form, beside which HTML is sent
    # Synapse's default for one account (rc_message): 10, then one in 5 seconds
    rates = (Rate("matrix-channel", 10, 50.0, "channel"),)
    form = MatrixForm
    secret_fields = ("token",)
    stored_as = {"server": "url"}

    def summary(self, destination: Destination) -> str:
        return f"{destination.address.get('room', '')} · {self.host(destination)}"

    def send(self, message: Message, destination: Destination) -> Answer:
        room, token = str(destination.address.get("room", "")), destination.secrets.get("token", "")
        if not (_ROOM.fullmatch(room) and _TOKEN.fullmatch(token) and self.host(destination)):
            return post.damaged("homeserver, room or token")
        path = f"/_matrix/client/v3/rooms/{quote(room, safe='')}/send/m.room.message/{message.key}"
        # Without m.mentions, an "@room" in the text would ring for everybody in the room.
        rendered = self.render(message, destination)
        document = {"msgtype": "m.text", "body": rendered.body.text, "m.mentions": {}}
        if rendered.has_marks:
            html = render(message, self.limits, style=markup.HTML).body.text.replace("\n", "<br>")
            if len(json.dumps([html, rendered.body.text])) < _MOST_BYTES:
                document |= {"format": "org.matrix.custom.html", "formatted_body": html}
        headers = {"Authorization": f"Bearer {token}"}
        return post.post_json(f"{destination.address['url']}{path}", document, self.deadline, _judge, headers, "PUT")


def _judge(response: Response) -> Answer:
    if response.status == 200:
        return Delivered()
    error = post.json_object(response)
    match response.status, error.get("errcode"):
        case 401, _:
            return Rejected(Reason(DeliveryCode.ACCESS_TOKEN, service="Matrix"))
        case 403, "M_FORBIDDEN":
            return Rejected(Reason(DeliveryCode.NOT_IN_ROOM))
    milliseconds = error.get("retry_after_ms")
    wait = milliseconds / 1000 if isinstance(milliseconds, int) and not isinstance(milliseconds, bool) else None
    return post.refused(gettext_noop("the homeserver"), response, wait)
