from django.urls import path

from events.web import leave, subscriptions, topics

app_name = "events"
urlpatterns = [
    path("topics/", topics.topic_list, name="topics"),
    path("topics/new/", topics.new, name="topic-new"),
    path("topics/<uuid:topic_id>/", topics.detail, name="topic"),
    path("topics/<uuid:topic_id>/edit/", topics.edit, name="topic-edit"),
    path("topics/<uuid:topic_id>/delete/", topics.delete, name="topic-delete"),
    path("topics/<uuid:topic_id>/people/<uuid:subscription_id>/remove/", topics.remove_person, name="topic-remove"),
    path("subscriptions/", subscriptions.subscription_list, name="subscriptions"),
    path("subscriptions/<uuid:topic_id>/", subscriptions.subscribe, name="subscription"),
    path("subscriptions/<uuid:topic_id>/leave/", subscriptions.leave, name="subscription-leave"),
    # No sign-in: the signature in the link is the permission.
    path("leave/<str:token>/", leave.by_link, name="leave"),
]
