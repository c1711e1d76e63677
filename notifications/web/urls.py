from django.urls import path

from notifications.deliveries.dead_letters import Action
from notifications.web import answer_page, boards, channel_check, channels, history, inbox, live, unsubscribe

app_name = "notifications"
urlpatterns = [
    path("channels/", channels.channel_list, name="channels"),
    path("channels/new/", channels.choose, name="channel-new"),
    path("channels/new/<slug:kind>/", channels.add, name="channel-add"),
    path("channels/<uuid:channel_id>/", channels.change_settings, name="channel"),
    path("channels/<uuid:channel_id>/change/", channels.change, name="channel-change"),
    path("channels/<uuid:channel_id>/secret/", channels.secret, name="channel-secret"),
    path("channels/<uuid:channel_id>/secret/new/", channels.replace_secret, name="channel-secret-new"),
    path("channels/<uuid:channel_id>/enable/", channels.enable, name="channel-enable"),
    path("channels/<uuid:channel_id>/remove/", channels.remove, name="channel-remove"),
    path("channels/<uuid:channel_id>/verify/", channel_check.verify, name="channel-verify"),
    path("channels/<uuid:channel_id>/code/", channel_check.resend_code, name="channel-code"),
    path("channels/<uuid:channel_id>/test/", channel_check.send_test, name="channel-test"),
    path("channels/tests/<uuid:delivery_id>/", channel_check.test_result, name="channel-test-result"),
    path("history/", history.history, name="history"),
    path("history/<uuid:notification_id>/", history.notification, name="notification"),
    path("history/<uuid:notification_id>/answer/", answer_page.own, name="answer-own"),
    path("history/deliveries/<uuid:delivery_id>/again/", history.act, {"what": Action.REPLAYED}, name="send-again"),
    path("history/deliveries/<uuid:delivery_id>/discard/", history.act, {"what": Action.DISCARDED}, name="discard"),
    path("history/deliveries/<uuid:delivery_id>/new/", history.act, {"what": Action.AS_NEW}, name="send-as-new"),
    path("history/deliveries/<uuid:delivery_id>/fixed/", history.act, {"what": Action.FIXED}, name="fixed"),
    path("history/<uuid:notification_id>/cancel/", history.cancel, name="notification-cancel"),
    path("boards/", boards.board_list, name="boards"),
    path("boards/<uuid:board_id>/", boards.board, name="board"),
    path("in/boards/<str:secret>", boards.receive, name="board-receive"),
    path("done/", answer_page.done, name="done"),
    path("inbox/", inbox.inbox, name="inbox"),
    path("inbox/state/", live.state, name="state"),
    path("inbox/read/", inbox.read_all, name="inbox-read"),
    path("inbox/<uuid:delivery_id>/", inbox.message, name="message"),
    path("inbox/<uuid:delivery_id>/archive/", inbox.archive, name="message-archive"),
    path("service-worker.js", live.service_worker, name="service-worker"),
    path("offline/", live.offline, name="offline"),
    # No sign-in: the signature in the link is the permission.
    path("answer/<str:token>/", answer_page.by_link, name="answer"),
    path("unsubscribe/<str:token>/", unsubscribe.by_link, name="unsubscribe"),
    path("unsubscribe/<str:token>/remove/", unsubscribe.remove, name="unsubscribe-remove"),
]
