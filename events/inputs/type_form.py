"""The form of a registered type, for the pages and for the API, and what saves it."""

import json
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _, gettext_lazy

from common.forms.not_possible import NotPossible
from events.models import RegisteredType
from events.pure import matching, types
from people.models import User
from people.user_lock import lock_user

MOST = 200
"""Registered types of one person."""

EXAMPLE = json.dumps(
    {"type": "object", "required": ["order_id"], "properties": {"order_id": {"type": "integer"}}}, indent=2
)


def may_register_for_all(user: User) -> bool:
    """Whether this person may register types for everybody: staff with the permission to add registered types."""
    return user.is_staff and user.has_perm("events.add_registeredtype")


class SchemaField(forms.CharField):
    """The text of a schema, which is stored as it was typed; a schema itself is written out."""

    def to_python(self, value: Any) -> Any:
        return json.dumps(value, ensure_ascii=False, indent=2) if isinstance(value, dict) else super().to_python(value)


class TypeForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs alone
    """`name` and whose it is are set once. `version` is the one that was edited; empty: any."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    is_for_everybody = forms.BooleanField(
        label=gettext_lazy("For everybody"),
        required=False,
        help_text=gettext_lazy("For the events of all people who have not registered this type themselves."),
    )

    class Meta:
        model = RegisteredType
        fields = ["name", "summary", "data_schema", "on_misfit", "emitted_by", "handled_by"]
        field_classes = {"data_schema": SchemaField}
        labels = {
            "name": gettext_lazy("Type"),
            "summary": gettext_lazy("What happened"),
            "data_schema": gettext_lazy("JSON Schema of the data"),
            "on_misfit": gettext_lazy("An event that does not fit"),
            "emitted_by": gettext_lazy("Emitted by"),
            "handled_by": gettext_lazy("Handled by"),
        }
        help_texts = {
            "data_schema": gettext_lazy("Draft 2020-12 or 7. Patterns are those of RE2."),
            "on_misfit": gettext_lazy(
                "Refused: the API answers 422; what an inbound webhook brings becomes a dead letter."
            ),
            "emitted_by": gettext_lazy("For people: the programs that publish it."),
            "handled_by": gettext_lazy("For people: the programs that wait for it."),
        }
        error_messages = {
            "name": {"required": gettext_lazy("Enter a type, such as order.paid.")},
            "data_schema": {"required": gettext_lazy("Enter a JSON Schema. {} accepts all data.")},
            "on_misfit": dict.fromkeys(("required", "invalid_choice"), gettext_lazy("Choose “refuse” or “warn”.")),
        }
        widgets = {
            "name": forms.TextInput(
                attrs={"placeholder": "order.paid", "spellcheck": "false", "autocapitalize": "none"}
            ),
            "data_schema": forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "placeholder": EXAMPLE}),
        }

    def __init__(self, posted: Mapping[str, Any] | None, user: User, type: RegisteredType | None = None) -> None:
        super().__init__(posted, instance=type or RegisteredType(user=user))
        self.user = user
        name = self.fields["name"]
        name.validators.append(
            RegexValidator(
                matching.WHOLE_TYPE,
                _("Write a type as a noun and what happened to it, in small letters: order.paid"),
                "type",
            )
        )
        if type is not None:
            del self.fields["name"], self.fields["is_for_everybody"]
            self.initial["version"] = type.version
        elif not may_register_for_all(user):
            del self.fields["is_for_everybody"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name in types.TYPES or types.is_reserved(name):
            raise ValidationError(_("Carillon knows this type already. Choose another name."), "reserved")
        return name

    def clean_data_schema(self) -> str:
        from events.pure import json_schema

        try:
            json_schema.read(self.cleaned_data["data_schema"])
        except json_schema.Unusable as unusable:
            raise ValidationError([ValidationError(problem, "schema") for problem in unusable.problems]) from None
        return self.cleaned_data["data_schema"]


def create(form: TypeForm) -> RegisteredType:
    """Save the valid form of a new type. Raises NotPossible."""
    type: RegisteredType = form.instance
    if form.cleaned_data.get("is_for_everybody"):
        type.user = None
    with lock_user(form.user):
        if RegisteredType.objects.filter(user=type.user).count() >= MOST:
            raise NotPossible(_("There are %(most)s types, which is the limit. Delete one first.") % {"most": MOST})
        try:
            with transaction.atomic():
                type.save(force_insert=True)
        except IntegrityError:
            raise NotPossible(_("“%(name)s” is registered already. Edit that one.") % {"name": type.name}) from None
    return type
