"""The services of Apprise, with a replacement for `requests`, so that they use the guarded HTTP client.

A service calls `requests.post(…)` and finds `requests` in its own module. `load` sets that name to our replacement. Its
calls go through `notifications.net.http`, whatever options the service passes, and fail outside `guarded`. The library
itself is not patched, so nothing else in this process changes.
"""

import logging
import time
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import isclass
from io import BytesIO
from types import SimpleNamespace
from typing import Any, NoReturn

import requests
from django.utils.translation import gettext_noop as _
from requests.structures import CaseInsensitiveDict
from requests.utils import get_encoding_from_headers

from common.context import holding
from notifications.net import http
from notifications.net.address_field import remedy

# The services that people may use, by URL scheme. Each makes only plain calls of `requests`: it starts no process,
# opens no socket and uses no other library. A test checks their sources. Those with their own provider are left out.
_MODULES = """
africas_talking=atalk bark=bark,barks betterstack=betterstack brevo=brevo bulksms=bulksms bulkvs=bulkvs
burstsms=burstsms,kudosity chanify=chanify clickatell=clickatell clicksend=clicksend cliq=cliq,zcliq,zohocliq cm=cm
d7networks=d7sms dapnet=dapnet dingtalk=dingtalk dot=dot eight00com=eight00com emby=emby,embys
enigma2=enigma2,enigma2s evolution=evolution,evolutions exotel=exotel feishu=feishu firehydrant=firehydrant
flock=flock flowtriq=flowtriq,flowtriqs fluxer=fluxer,fluxers fortysixelks=46elks,elks freemobile=freemobile
github=github goalert=goalert,goalerts google_chat=gchat gorush=gorush,gorushs gotify=gotify,gotifys
groundmail=groundmail groupme=groupme gupshup=gupshup home_assistant=hassio,hassios httpsms=httpsms
humhub=humhub,humhubs ifttt=ifttt ilert=ilert incidentio=incidentio infobip=infobip jira=jira join=join
kakaotalk=kakaotalk,kakao kaleyra=kaleyra,klr kavenegar=kavenegar kodi=kodi,xbmc,kodis,xbmcs kook=kook
kumulos=kumulos lametric=lametric,lametrics lark=lark lauther=lauther lfgalarm=lfg line=line mailersend=mailersend
mailgun=mailgun mastodon=mastodon,toot,mastodons,toots
mattermost=mmost,mmosts messagebird=msgbird misskey=misskey,misskeys mobilemessage=mobilemessage,mobilemsg
msg91=msg91 nextcloud=ncloud,nclouds nextcloudtalk=nctalk,nctalks notica=notica,noticas notifico=notifico,notificos
notifyre=notifyre octopush=octopush office365=azure,o365 one_signal=onesignal
onebot=onebot,onebots opsgenie=opsgenie pagerduty=pagerduty
pagertree=pagertree parseplatform=parsep,parseps pinglet=pinglet,pinglets pingram=pingram plivo=plivo
postmark=postmark prowl=prowl pushbullet=pbul pushdeer=pushdeer,pushdeers pushed=pushed pushjet=pjet,pjets pushme=pushme
pushover=pover pushplus=pushplus,wecom pushsafer=psafer,psafers pushward=pushward pushy=pushy qq=qq reddit=reddit
resend=resend revolt=revolt ringcentral=ringc rocketchat=rocket,rockets ryver=ryver sendgrid=sendgrid
sendpulse=sendpulse serverchan=schan serwersms=serwersms seven=seven sfr=sfr signal_api=signal,signals
signalgrid=signalgrid signl4=signl4 sinch=sinch smsc=smsc smseagle=smseagle,smseagles smsmanager=smsmgr,smsmanager
smstunnel=smstunnel smtp2go=smtp2go sparkpost=sparkpost spike=spike splunk=splunk,victorops spugpush=spugpush
squadcast=squadcast stackfield=stackfield streamlabs=strmlabs synology=synology,synologys techuluspush=push
telesign=telesign telnyx=telnyx threema=threema trigv=trigv,trigvs twilio=twilio twist=twist viber=viber voipms=voipms
vonage=vonage,nexmo webexteams=wxteams,webex wechat=wechat wecombot=wecombot whapi=whapi whatsapp=whatsapp
workflows=workflow,workflows
wpush=wpush wxpusher=wxpusher xmatters=xmatters youlmk=youlmk zalo=zalo zoom=zoom zulip=zulip
"""

SERVICES: dict[str, str] = {
    scheme: module
    for module, _, schemes in (entry.partition("=") for entry in _MODULES.split())
    for scheme in schemes.split(",")
}
"""The module in apprise.plugins, by scheme."""

NAMES = sorted({name.replace("_", " ").capitalize() for name in SERVICES.values()} | {"Microsoft Teams"})
"""For people; without loading a hundred modules."""

_REFUSED = {
    _(
        "%(service)s is not supported: it is not reached over HTTP."
    ): "AMQP=amqp,amqps APRS=aprs Growl=growl IRC=irc,ircs MQTT=mqtt,mqtts Nostr=nostr"
    " SMPP=smpp,smpps Syslog=syslog,rsyslog XMPP=xmpp,xmpps",
    _(
        "%(service)s is not supported: it keeps a session and encryption keys, which Carillon does not."
    ): "Session=session,sessions,sogs",
    _("%(service)s is not supported: it needs another library."): "Simplepush=spush,simplepush Twitter=x,twitter,tweet",
    _(
        "%(service)s is not supported: it shows messages on the machine of the server."
    ): "Blink1=blink1 D-Bus=dbus,kde,qt,glib Gnome=gnome macOS=macosx Windows=windows",
    _(
        "%(service)s is not supported: it sends mail past the mail server of this installation."
    ): "DeltaChat=deltachat,deltachats",
}

REFUSED: dict[str, tuple[str, str]] = {
    scheme: (reason, name)
    for reason, entries in _REFUSED.items()
    for name, _, schemes in (entry.partition("=") for entry in entries.split())
    for scheme in schemes.split(",")
}
"""Why a well-known service is not among them, and its name, by scheme; the reason is a text to translate."""

# It logs addresses and payloads.
logging.getLogger("apprise").setLevel(logging.CRITICAL)


@dataclass(slots=True)
class Calls:
    """Requests of a service. `expires` is on the monotonic clock; with `probe_only`, nothing is sent."""

    expires: float
    probe_only: bool = False
    responses: list[http.Response] = field(default_factory=list)
    refusal: str = ""
    failure: http.RequestFailed | None = None


_current: ContextVar[Calls | None] = ContextVar("calls", default=None)


def guarded(seconds: float, probe_only: bool = False) -> AbstractContextManager[Calls]:
    """Allow the services that are called inside the block to make requests, for `seconds` in all."""
    return holding(_current, Calls(time.monotonic() + seconds, probe_only))


@cache
def load(scheme: str) -> Any:
    """Return the service's class for `scheme`. Raises KeyError for a scheme that is not allowed."""
    from apprise.plugins.base import NotifyBase

    module = import_module(f"apprise.plugins.{SERVICES[scheme]}")
    module.requests = _REPLACEMENT  # type: ignore[attr-defined]
    # We send no attachments, so a file would be one that somebody named in a URL.
    module.open = _refuse_file  # type: ignore[attr-defined]
    if hasattr(module, "AppriseAttachment"):
        module.AppriseAttachment = _NoAttachments  # type: ignore[attr-defined]
    services = (value for value in vars(module).values() if isclass(value) and issubclass(value, NotifyBase))
    return next(service for service in services if scheme in schemes_of(service))


def _refuse_file(*_: Any, **__: Any) -> Any:
    raise OSError("services read no files")


class _NoAttachments(list[Any]):
    def __init__(self, **_: Any) -> None:
        super().__init__()

    def add(self, source: object) -> bool:
        return False


def schemes_of(service: Any) -> set[str]:
    named = (service.protocol, service.secure_protocol)
    return {scheme for names in named for scheme in ([names] if isinstance(names, str) else names or ())}


class _Guarded(requests.Session):
    """Prepares requests as `requests` does, and sends them by the guarded client, whatever options a service passes."""

    def __init__(self) -> None:
        super().__init__()
        self.headers.clear()
        self.trust_env = False

    def send(self, request: requests.PreparedRequest, **_ignored: Any) -> requests.Response:
        if (calls := _current.get()) is None:
            raise requests.ConnectionError("call this inside guarded()")
        url, left = str(request.url), max(0.0, calls.expires - time.monotonic())
        if calls.probe_only:
            _probe(calls, url, left)
        body: Any = request.body or b""
        try:
            answer = http.request(
                str(request.method),
                url,
                body=body.encode() if isinstance(body, str) else body,
                headers={name: value for name, value in request.headers.items() if name.lower() != "content-length"},
                deadline=left,
            )
        except http.RequestFailed as failure:
            # A request that may have arrived matters more than those that did not.
            if not isinstance(calls.failure, http.Unanswered):
                calls.failure = failure
            raise requests.ConnectionError("no answer") from None
        calls.responses.append(answer)
        response = requests.Response()
        response.status_code = answer.status
        response.headers = CaseInsensitiveDict(answer.headers)
        response.encoding = get_encoding_from_headers(response.headers)
        response.url = url
        response.raw = BytesIO(answer.body)
        return response


def _probe(calls: Calls, url: str, left: float) -> NoReturn:
    """Note why the address would be refused. For the service it is as if nobody answered."""
    try:
        http.probe(url, left)
    except http.NotSent as refusal:
        calls.refusal = calls.refusal or remedy(refusal)
    raise requests.ConnectionError("probe only")


_session = _Guarded()

# Only what the services use of `requests`: a session, for example, is an AttributeError.
_REPLACEMENT = SimpleNamespace(
    **{name: getattr(_session, name) for name in ("request", "get", "post", "put", "delete")},
    codes=requests.codes,
    RequestException=requests.RequestException,
    TooManyRedirects=requests.TooManyRedirects,
)
