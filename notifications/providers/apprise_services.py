"""The Apprise services that people may use, by URL scheme.

Each makes only plain calls of `requests`, which go through the guarded client: it starts no process, opens no socket
and uses no other library. A test checks their sources. `apprise_requests` keeps them from files. Services with their
own provider are left out.
"""

from django.utils.translation import gettext_noop as _

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
