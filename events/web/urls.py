from django.urls import path

from events.web import events, receive

app_name = "events"
urlpatterns = [
    path("in/<str:token>", receive.post, name="receive"),
    path("events/", events.event_list, name="list"),
    path("events/types", events.type_list, name="types"),
    path("events/<uuid:event_id>", events.event_detail, name="event"),
    path("events/<uuid:event_id>/replay", events.event_replay, name="event-replay"),
    path("trace/<uuid:correlation_id>", events.trace_page, name="trace"),
]
