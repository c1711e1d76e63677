"""Edit a person's rule in the admin, with the owner's form."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from common.admin import owner_form, rights
from common.admin.base import as_uuid
from events.models import Rule
from events.web.rule_form import RuleForm


def edit(model_admin: Any, request: HttpRequest, rule_id: str) -> HttpResponse:
    rule = get_object_or_404(Rule.objects.select_related("user"), id=as_uuid(rule_id))
    if not rights.may_act_on(request, rule):
        raise PermissionDenied
    form = RuleForm(request.POST if request.method == "POST" else None, user=rule.user, rule=rule)
    context: dict[str, Any] = {"form": form, "title": _("Edit rule"), "owner": rule.user, "rule": rule}
    if rule.deleted_at is None and not form.change_rows(request.POST) and form.is_valid():
        context["differences"] = form.change(rule)
        if context["differences"] is None:
            model_admin.log_change(request, rule, "Edited.")
            messages.success(request, _("“%(name)s” is saved.") % {"name": form.cleaned_data["name"]})
            return _to(rule)
        rule.refresh_from_db(fields=["deleted_at"])
    if rule.deleted_at is not None:
        messages.error(request, _("This rule was deleted. Its owner can restore it."))
        return _to(rule)
    status = 409 if context.get("differences") else 200
    return owner_form.page(model_admin, request, "admin/events/rule_form.html", context, status)


def _to(rule: Rule) -> HttpResponse:
    return redirect("admin:events_rule_change", rule.pk)
