"""Pages in the frame of the admin that Django's views do not make."""

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.forms.widgets import Input
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold import widgets

from common.texts.types import StrOrPromise

_CLASSES: list[tuple[type[forms.Widget], list[str]]] = [
    (forms.CheckboxSelectMultiple, widgets.CHECKBOX_CLASSES),
    (forms.CheckboxInput, widgets.CHECKBOX_CLASSES),
    (forms.RadioSelect, widgets.RADIO_CLASSES),
    (forms.Select, widgets.SELECT_CLASSES),
    (forms.Textarea, widgets.TEXTAREA_CLASSES),
    (Input, widgets.INPUT_CLASSES),
]


def page(
    request: HttpRequest, template: str, title: StrOrPromise, of: Any = None, status: int = 200, **context: Any
) -> TemplateResponse:
    """A page with this title; `of`: the admin of the model to whose list it leads back."""
    context |= admin.site.each_context(request) | {"title": title} | ({"opts": of.opts} if of else {})
    return TemplateResponse(request, template, context, status=status)


def owner_form(
    of: Any, request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> TemplateResponse:
    """A `form` of the owner's pages, with the admin's styles."""
    for bound in context["form"]:
        bound.field = copy(bound.field)  # the forms of a class share theirs
        bound.field.widget = whole = deepcopy(bound.field.widget)
        # The classes of a MultiWidget would replace those of its parts.
        for widget in getattr(whole, "widgets", [whole]):
            classes = next((classes for kind, classes in _CLASSES if isinstance(widget, kind)), [])
            widget.attrs["class"] = " ".join(classes)
    context |= {
        "input_classes": " ".join(widgets.INPUT_CLASSES),
        "select_classes": " ".join(widgets.SELECT_CLASSES),
    }
    return page(request, template, of=of, status=status, **context)


class Reason(forms.Form):
    reason = forms.CharField(
        max_length=300,
        widget=widgets.UnfoldAdminTextInputWidget({"autofocus": True}),
        error_messages={"required": _("Enter a reason. It is stored with each row and shown to the owner.")},
    )


def reason(request: HttpRequest) -> Reason:
    """The submitted form, or an unbound one before the page is shown."""
    return Reason(request.POST if is_confirmed(request) else None)


def confirmation(
    of: Any, request: HttpRequest, *, action: str, key: str | None = None, **context: Any
) -> TemplateResponse:
    """Confirm `action` for the selected rows, or for the one row `key`. The form posts to the list's own action.

    `context` has a `title`, a `text` and the word of the `button`; `form`, if it asks for something; `lines`, some of
    the rows in words; and `warnings`, what to repair before.
    """
    names = f"admin:{of.opts.app_label}_{of.opts.model_name}"
    selected: Sequence[str] = request.POST.getlist(ACTION_CHECKBOX_NAME) if key is None else [key]
    across = request.POST.get("select_across", "0") if key is None else "0"
    context |= {
        "to": request.get_full_path() if key is None else reverse(f"{names}_changelist"),
        "back": request.get_full_path() if key is None else reverse(f"{names}_change", args=[key]),
        "hidden": [
            ("action", action),
            ("select_across", across),
            *((ACTION_CHECKBOX_NAME, one) for one in selected),
        ],
    }
    return page(request, "admin/confirm.html", of=of, **context)


def is_confirmed(request: HttpRequest) -> bool:
    return "confirmed" in request.POST
