"""The Apprise services that people may use, by URL scheme.

Each makes only plain calls of `requests`, which go through the guarded client: it reads no file, starts no process,
opens no socket and uses no other library. A test checks their sources. Services with their own provider are left out.
"""

from __future__ import annotations

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
mattermost=mmost,mmosts messagebird=msgbird misskey=misskey,misskeys mobilemessage=mobilemessage,mobilemsg
msg91=msg91 nextcloud=ncloud,nclouds nextcloudtalk=nctalk,nctalks notica=notica,noticas notifico=notifico,notificos
notifyre=notifyre octopush=octopush office365=azure,o365 one_signal=onesignal opsgenie=opsgenie pagerduty=pagerduty
pagertree=pagertree parseplatform=parsep,parseps pinglet=pinglet,pinglets pingram=pingram plivo=plivo
postmark=postmark prowl=prowl pushdeer=pushdeer,pushdeers pushed=pushed pushjet=pjet,pjets pushme=pushme
pushover=pover pushplus=pushplus,wecom pushsafer=psafer,psafers pushward=pushward pushy=pushy qq=qq reddit=reddit
resend=resend revolt=revolt ringcentral=ringc rocketchat=rocket,rockets ryver=ryver sendgrid=sendgrid
sendpulse=sendpulse serverchan=schan serwersms=serwersms seven=seven sfr=sfr signal_api=signal,signals
signalgrid=signalgrid signl4=signl4 sinch=sinch smsc=smsc smseagle=smseagle,smseagles smsmanager=smsmgr,smsmanager
smstunnel=smstunnel smtp2go=smtp2go sparkpost=sparkpost spike=spike splunk=splunk,victorops spugpush=spugpush
squadcast=squadcast stackfield=stackfield streamlabs=strmlabs synology=synology,synologys techuluspush=push
telesign=telesign telnyx=telnyx threema=threema trigv=trigv,trigvs twist=twist viber=viber voipms=voipms
vonage=vonage,nexmo webexteams=wxteams,webex wechat=wechat wecombot=wecombot whapi=whapi whatsapp=whatsapp
wpush=wpush wxpusher=wxpusher xmatters=xmatters youlmk=youlmk zalo=zalo zoom=zoom zulip=zulip
"""

SERVICES: dict[str, str] = {
    scheme: module
    for module, _, schemes in (entry.partition("=") for entry in _MODULES.split())
    for scheme in schemes.split(",")
}
"""The module in apprise.plugins, by scheme."""
