from django.urls import path

from events.web import events, inbound, receive

app_name = "events"
urlpatterns = [
    path("in/<str:secret>", receive.post, name="receive"),
    path("events/", events.event_list, name="list"),
    path("events/types", events.type_list, name="types"),
    path("events/<uuid:event_id>", events.event_detail, name="event"),
    path("events/<uuid:event_id>/replay", events.event_replay, name="event-replay"),
    path("inbound/", inbound.inbound_list, name="inbound-list"),
    path("inbound/new", inbound.inbound_new, name="inbound-new"),
    path("inbound/<uuid:address_id>", inbound.inbound, name="inbound"),
    path("inbound/<uuid:address_id>/edit", inbound.inbound_edit, name="inbound-edit"),
    path("inbound/<uuid:address_id>/replace", inbound.inbound_replace, name="inbound-replace"),
    path("inbound/<uuid:address_id>/remove", inbound.inbound_remove, name="inbound-remove"),
    path("inbound/requests/<uuid:request_id>/replay", inbound.inbound_replay, name="inbound-replay"),
    path("trace/<uuid:correlation_id>", events.trace_page, name="trace"),
]
