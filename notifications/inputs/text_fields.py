"""Fields for the texts of a notification, with placeholders."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from common.texts.types import StrOrPromise
from notifications.messages import text

Check = Callable[[str], list[str]]


class _TextField(forms.CharField):
    """`check` gives a sentence for each wrong placeholder; it reads no text that is too long."""

    def __init__(self, *, check: Check, **options: Any) -> None:
        super().__init__(**options)
        self.check = check

    def run_validators(self, value: Any) -> None:
        super().run_validators(value)
        if problems := self.check(value):
            raise ValidationError([ValidationError(problem, "placeholder") for problem in problems])


class TitleField(_TextField):
    """One line."""

    def __init__(self, *, check: Check, example: StrOrPromise) -> None:
        super().__init__(
            check=check,
            label=_("Title"),
            max_length=text.MAX_SUBJECT,
            widget=forms.TextInput(attrs={"placeholder": example, "autocomplete": "off"}),
            error_messages={"required": format_lazy(_("Enter a title, such as “{example}”."), example=example)},
        )


class BodyField(_TextField):
    """Several lines. Browsers count a line break as one character but send two."""

    def __init__(self, *, check: Check, help_text: StrOrPromise) -> None:
        super().__init__(
            check=check,
            label=_("Text"),
            required=False,
            widget=forms.Textarea(attrs={"rows": 4}),
            help_text=format_lazy(
                "{placeholders} {marks}",
                placeholders=help_text,
                marks=_("**Bold**, _italic_, [links](https://…) and lists with - are shown where a channel can."),
            ),
            validators=[MaxLengthValidator(text.MAX_BODY)],
        )

    def to_python(self, value: Any) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")
