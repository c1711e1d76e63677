"""Pages in the frame of the admin that Django's views do not make."""

from copy import copy, deepcopy
from typing import Any

from django import forms
from django.contrib import admin
from django.forms.widgets import Input
from django.http import HttpRequest
from django.template.response import TemplateResponse
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
