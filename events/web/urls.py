from urllib.parse import unquote

from django.urls import path, register_converter
from django.urls.converters import PathConverter

from events.flows.incident import ACKNOWLEDGED, RESOLVED
from events.web import events, inbound, rules, runs, topics, types


class ChainConverter(PathConverter):
    """A correlation id. In links, slashes and dots that browsers and proxies would resolve are encoded once more."""

    def to_python(self, value: str) -> str:
        return unquote(value)

    def to_url(self, value: object) -> str:
        text = str(value).replace("%", "%25").replace("/", "%2F")
        return text if text.strip(".") else text.replace(".", "%2E")


register_converter(ChainConverter, "chain")

app_name = "events"
urlpatterns = [
    path("topics/", topics.topic_list, name="topics"),
    path("topics/new/", topics.new, name="topic-new"),
    path("topics/<uuid:topic_id>/", topics.detail, name="topic"),
    path("topics/<uuid:topic_id>/edit/", topics.edit, name="topic-edit"),
    path("topics/<uuid:topic_id>/delete/", topics.delete, name="topic-delete"),
    path("topics/<uuid:topic_id>/people/<uuid:subscription_id>/remove/", topics.remove_person, name="topic-remove"),
    path("subscriptions/", topics.subscription_list, name="subscriptions"),
    path("subscriptions/<uuid:topic_id>/", topics.subscribe, name="subscription"),
    path("subscriptions/<uuid:topic_id>/leave/", topics.leave, name="subscription-leave"),
    # No sign-in: the signature in the link is the permission.
    path("leave/<str:token>/", topics.leave_by_link, name="leave"),
    path("in/<str:secret>", inbound.inbound_post, name="receive"),
    path("events/", events.event_list, name="list"),
    path("events/types", types.type_list, name="types"),
    path("events/types/new", types.new, name="type-new"),
    path("events/types/<uuid:type_id>", types.detail, name="type"),
    path("events/types/<uuid:type_id>/edit", types.edit, name="type-edit"),
    path("events/types/<uuid:type_id>/delete", types.delete, name="type-delete"),
    path("events/<uuid:event_id>", events.event_detail, name="event"),
    path("events/<uuid:event_id>/replay", events.event_replay, name="event-replay"),
    path("events/<uuid:event_id>/discard", events.event_discard, name="event-discard"),
    path("inbound/", inbound.inbound_list, name="inbound-list"),
    path("inbound/new", inbound.inbound_new, name="inbound-new"),
    path("inbound/<uuid:address_id>", inbound.inbound, name="inbound"),
    path("inbound/<uuid:address_id>/edit", inbound.inbound_edit, name="inbound-edit"),
    path("inbound/<uuid:address_id>/replace", inbound.inbound_replace, name="inbound-replace"),
    path("inbound/<uuid:address_id>/remove", inbound.inbound_remove, name="inbound-remove"),
    path("inbound/requests/<uuid:request_id>/replay", inbound.inbound_replay, name="inbound-replay"),
    path("trace/<chain:correlation_id>", events.trace_page, name="trace"),
    path("flows/", runs.run_list, name="runs"),
    path("flows/<uuid:run_id>/", runs.run_page, name="run"),
    path("flows/<uuid:run_id>/end/", runs.run_end, name="run-end"),
    path("flows/steps/<uuid:step_id>/retry/", runs.end_failure, {"skips": False}, name="step-retry"),
    path("flows/steps/<uuid:step_id>/skip/", runs.end_failure, {"skips": True}, name="step-skip"),
    path("incidents/", runs.incident_list, name="incidents"),
    path("incidents/settings/", runs.incident_settings, name="incident-settings"),
    path("incidents/test/", runs.incident_test, name="incident-test"),
    path("incidents/<uuid:run_id>/acknowledge/", runs.act, {"type": ACKNOWLEDGED}, name="incident-acknowledge"),
    path("incidents/<uuid:run_id>/resolve/", runs.act, {"type": RESOLVED}, name="incident-resolve"),
    path("rules/", rules.rule_list, name="rules"),
    path("rules/new/", rules.new, name="rule-new"),
    path("rules/preview/", rules.show_preview, name="rule-preview"),
    path("rules/<uuid:rule_id>/", rules.detail, name="rule"),
    path("rules/<uuid:rule_id>/edit/", rules.edit, name="rule-edit"),
    path("rules/<uuid:rule_id>/enable/", rules.switch, {"enabled": True}, name="rule-enable"),
    path("rules/<uuid:rule_id>/disable/", rules.switch, {"enabled": False}, name="rule-disable"),
    path("rules/<uuid:rule_id>/delete/", rules.delete, name="rule-delete"),
    path("rules/<uuid:rule_id>/restore/", rules.restore, name="rule-restore"),
]
