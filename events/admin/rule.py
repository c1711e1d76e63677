"""Rules in the admin: read in words with their last effects, edited, switched on and off."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy
from unfold.decorators import action as button

from common.admin import columns, pages
from common.admin.base import as_uuid
from common.texts.state_words import labelled
from events.admin.event import EventEffectInline
from events.inputs.rule_form import RuleForm
from events.models import Effect, Rule
from events.rules import changes, words
from notifications.admin import cells
from people.access.requests import posted
from people.admin.user import OwnedAdmin

_NEWEST = 100


class EffectInline(EventEffectInline):
    model = Effect
    verbose_name_plural = gettext_lazy("last effects")
    fields = (*EventEffectInline.fields, "caused")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The newest of the shown rule only, because its pages are counted."""
        match = request.resolver_match
        rule = as_uuid(unquote(match.kwargs.get("object_id", ""))) if match else None
        newest = Effect.objects.filter(rule=rule).order_by("-id").values("id")[:_NEWEST]
        return super().get_queryset(request).filter(id__in=newest)

    caused = columns.column(gettext_lazy("notification"), "notification_id", cells.to_notification)


@admin.register(Rule)
class RuleAdmin(OwnedAdmin):
    list_display = ("name_short", "person", "words", "state_label", "changed", "rows")
    list_disable_select_all = True  # each is switched in its own transaction
    link_lookups = ("user__id__exact", "channels__id__exact")
    fieldsets = (
        columns.section(None, "name", ("person", "state_label"), "rows"),
        columns.section(gettext_lazy("When"), "words", "only_if"),
        columns.section(gettext_lazy("Says"), "title", "body"),
        columns.section(gettext_lazy("Sends to"), ("to_channels", "how_many"), "urgent"),
        columns.section(gettext_lazy("How often"), "how_often"),
        columns.section(gettext_lazy("Its row"), ("id", "version"), ("created", "changed"), "deleted"),
    )
    search_fields = ("name",)
    inlines = (EffectInline,)
    empty_text = gettext_lazy("No rules yet. People create them on their own pages.")
    actions = ("switch_on", "switch_off")
    actions_detail = ("edit",)

    @button(description=gettext_lazy("Edit"), url_path="edit", icon="edit", permissions=["act"])  # type: ignore[untyped-decorator]
    def edit(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """With the owner's form."""
        if (rule := self.get_object(request, object_id)) is None:  # the row whose permission was checked
            raise Http404
        form = RuleForm(posted(request), user=rule.user, rule=rule)
        context: dict[str, Any] = {"form": form, "title": _("Edit rule"), "owner": rule.user, "rule": rule}
        page = redirect("admin:events_rule_change", rule.pk)
        if rule.deleted_at is None and not form.change_rows(request.POST) and form.is_valid():
            context["differences"] = form.change()
            if context["differences"] is None:
                self.log_change(request, rule, "Edited.")
                messages.success(request, _("“%(name)s” is saved.") % {"name": form.cleaned_data["name"]})
                return page
            rule.refresh_from_db(fields=["deleted_at"])
        if rule.deleted_at is not None:
            messages.error(request, _("This rule was deleted. Its owner can restore it."))
            return page
        status = 409 if context.get("differences") else 200
        return pages.owner_form(self, request, "admin/events/rule_form.html", context, status)

    @admin.action(description=gettext_lazy("Switch on"), permissions=["act"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, True)

    @admin.action(description=gettext_lazy("Switch off"), permissions=["act"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        self._switch(request, queryset, False)

    def _switch(self, request: HttpRequest, queryset: QuerySet[Any], enabled: bool) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        to_change = Rule.objects.filter(id__in=chosen, enabled=not enabled, deleted_at=None)
        changed = list(to_change.values_list("id", flat=True))
        for key in changed:
            with transaction.atomic():
                self.log_many(request, [changes.switch(key, enabled)], "Switched on." if enabled else "Switched off.")
        if enabled:
            done, skipped = _("%(count)s switched on."), _("%(count)s skipped: already on, or deleted.")
        else:
            done, skipped = _("%(count)s switched off."), _("%(count)s skipped: already off, or deleted.")
        self.tell_changed(request, len(chosen), len(changed), done, skipped)

    name_short = columns.column(gettext_lazy("name"), "name", columns.short)
    words = columns.column(gettext_lazy("listens to"), "", words.listens_to)

    only_if = columns.column(
        gettext_lazy("only if"), "", lambda rule: "; ".join(words.conditions(rule)) or _("no conditions")
    )
    how_often = columns.column(
        gettext_lazy("limit and digest"),
        "",
        lambda rule: "; ".join(filter(None, (words.throttle(rule), words.digest(rule)))) or _("each event"),
    )
    state_label = columns.badge(
        gettext_lazy("state"),
        "",
        {"on": "success", "off": "info", "deleted": "danger"},
        lambda rule: labelled("deleted" if rule.deleted_at is not None else "on" if rule.enabled else "off"),
    )
    rows = columns.column(
        gettext_lazy("rows"),
        "pk",
        lambda key: columns.to_list("notifications.notification", "notifications", origin_id=key),
    )
    to_channels = columns.column(gettext_lazy("channels"), "", cells.channels)
    how_many = columns.column(gettext_lazy("order"), "", cells.order)
