"""Confirmation page of an admin action, with an optional reason."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib.admin import helpers
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin import pages


class Reason(forms.Form):
    reason = forms.CharField(
        max_length=300,
        widget=UnfoldAdminTextInputWidget({"autofocus": True}),
        error_messages={"required": _("Enter a reason. It is stored with each row and shown to the owner.")},
    )


def form(request: HttpRequest) -> Reason:
    """The submitted form, or an unbound one before the page is shown."""
    return Reason(request.POST if is_confirmed(request) else None)


def page(admin: Any, request: HttpRequest, *, action: str, key: str | None = None, **context: Any) -> TemplateResponse:
    """Confirm `action` for the selected rows, or for the one row `key`. The form posts to the list's own action.

    `context` has a `title`, a `text` and the word of the `button`; `form`, if it asks for something; `lines`, some of
    the rows in words; and `warnings`, what to repair before.
    """
    names = f"admin:{admin.opts.app_label}_{admin.opts.model_name}"
    selected: Sequence[str] = request.POST.getlist(helpers.ACTION_CHECKBOX_NAME) if key is None else [key]
    across = request.POST.get("select_across", "0") if key is None else "0"
    context |= {
        "to": request.get_full_path() if key is None else reverse(f"{names}_changelist"),
        "back": request.get_full_path() if key is None else reverse(f"{names}_change", args=[key]),
        "hidden": [
            ("action", action),
            ("select_across", across),
            *((helpers.ACTION_CHECKBOX_NAME, one) for one in selected),
        ],
    }
    return pages.page(request, "admin/confirm.html", of=admin, **context)


def is_confirmed(request: HttpRequest) -> bool:
    return "confirmed" in request.POST
