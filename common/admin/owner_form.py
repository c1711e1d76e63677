"""Show a form of the owner's pages in the admin, with the admin's styles."""

from copy import copy, deepcopy
from typing import Any

from django import forms
from django.forms.widgets import Input
from django.http import HttpRequest, HttpResponse
from unfold import widgets

from common.admin import pages

_CLASSES: list[tuple[type[forms.Widget], list[str]]] = [
    (forms.CheckboxSelectMultiple, widgets.CHECKBOX_CLASSES),
    (forms.CheckboxInput, widgets.CHECKBOX_CLASSES),
    (forms.RadioSelect, widgets.RADIO_CLASSES),
    (forms.Select, widgets.SELECT_CLASSES),
    (forms.Textarea, widgets.TEXTAREA_CLASSES),
    (Input, widgets.INPUT_CLASSES),
]


def page(
    model_admin: Any, request: HttpRequest, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
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
    return pages.page(request, template, of=model_admin, status=status, **context)
