from django.urls import path

from notifications.views import (
    answering,
    changing,
    channels,
    health,
    history,
    inbox,
    letter,
    secret,
    trial,
    unsubscribing,
    verifying,
)

app_name = "notifications"
urlpatterns = [
    path("channels/", channels.channel_list, name="channels"),
    path("channels/new/", channels.choose, name="channel-new"),
    path("channels/new/<slug:kind>/", channels.add, name="channel-add"),
    path("channels/<uuid:channel_id>/", channels.rename, name="channel"),
    path("channels/<uuid:channel_id>/change/", changing.change, name="channel-change"),
    path("channels/<uuid:channel_id>/secret/", secret.show, name="channel-secret"),
    path("channels/<uuid:channel_id>/secret/new/", secret.replace, name="channel-secret-new"),
    path("channels/<uuid:channel_id>/enable/", health.enable, name="channel-enable"),
    path("channels/<uuid:channel_id>/remove/", channels.remove, name="channel-remove"),
    path("channels/<uuid:channel_id>/verify/", verifying.verify, name="channel-verify"),
    path("channels/<uuid:channel_id>/code/", verifying.send_code, name="channel-code"),
    path("channels/<uuid:channel_id>/test/", trial.send, name="channel-test"),
    path("channels/tests/<uuid:delivery_id>/", trial.result, name="channel-test-result"),
    path("history/", history.history, name="history"),
    path("history/<uuid:notification_id>/", history.notification, name="notification"),
    path("history/<uuid:notification_id>/answer/", answering.own, name="answer-own"),
    path("history/deliveries/<uuid:delivery_id>/again/", letter.send_again, name="send-again"),
    path("history/deliveries/<uuid:delivery_id>/discard/", letter.discard, name="discard"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/read/", inbox.read_all, name="inbox-read"),
    path("inbox/<uuid:delivery_id>/", inbox.message, name="message"),
    # Open to whoever holds the message: the signature in the link is what lets somebody in.
    path("answer/<str:token>/", answering.by_link, name="answer"),
    path("unsubscribe/<str:token>/", unsubscribing.by_link, name="unsubscribe"),
    path("unsubscribe/<str:token>/remove/", unsubscribing.remove, name="unsubscribe-remove"),
]
