"""The page between an action and its effect: how many rows, what will happen, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.admin import helpers
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget


class Reason(forms.Form):
    reason = forms.CharField(
        max_length=300,
        widget=UnfoldAdminTextInputWidget({"autofocus": True}),
        error_messages={"required": "Say why: it is kept with each row, and shown to its owner."},
    )


def answer(request: HttpRequest) -> Reason:
    """The form as it was sent from the page, or an empty one when the page is yet to be shown."""
    return Reason(request.POST if "answered" in request.POST else None)


def ask(
    admin: Any,
    request: HttpRequest,
    *,
    action: str,
    title: str,
    sentence: str,
    button: str,
    form: forms.Form | None = None,
    key: str | None = None,
) -> TemplateResponse:
    """Ask before `action` is done to the rows of the request, or to the one row `key`.

    The answer goes to the list as the action itself, so that it is done in one place, filter and all.
    """
    pages = f"admin:{admin.opts.app_label}_{admin.opts.model_name}"
    rows = reverse(f"{pages}_changelist")
    selected: Sequence[str] = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME) if key is None else [key]
    context = {
        **admin.admin_site.each_context(request),
        "opts": admin.opts,
        "title": title,
        "sentence": sentence,
        "button": button,
        "form": form,
        "action": action,
        "to": request.get_full_path() if key is None else rows,
        "back": request.get_full_path() if key is None else reverse(f"{pages}_change", args=[key]),
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
        "selected": selected,
        "select_across": request.POST.get("select_across", "0") if key is None else "0",
    }
    return TemplateResponse(request, "admin/notifications/ask.html", context)
