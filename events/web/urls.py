from django.urls import path

from events.web import edit, rules

app_name = "events"
urlpatterns = [
    path("rules/", rules.rule_list, name="rules"),
    path("rules/new/", edit.new, name="rule-new"),
    path("rules/preview/", edit.show_preview, name="rule-preview"),
    path("rules/<uuid:rule_id>/", rules.detail, name="rule"),
    path("rules/<uuid:rule_id>/edit/", edit.edit, name="rule-edit"),
    path("rules/<uuid:rule_id>/enable/", rules.enable, name="rule-enable"),
    path("rules/<uuid:rule_id>/disable/", rules.disable, name="rule-disable"),
    path("rules/<uuid:rule_id>/delete/", rules.delete, name="rule-delete"),
    path("rules/<uuid:rule_id>/restore/", rules.restore, name="rule-restore"),
]
