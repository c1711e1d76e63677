"""A form field for tags."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from schedules.parts import tags

_LONGEST = 1_000


class TagsField(forms.CharField):
    """Tags separated by commas, or a list of them, cleaned to a list without repeats."""

    widget = forms.TextInput(attrs={"list": "own-tags", "data-tags": True, "autocomplete": "off"})

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]  # as Django's own fields do
        if isinstance(value, list):
            if with_comma := next((tag for tag in value if "," in tag), None):
                said = _("“%(tag)s” contains a comma. Leave it out.") % {"tag": with_comma[:60]}
                raise ValidationError(said, "comma")
            typed = value
        else:
            if len(text := str(super().to_python(value) or "")) > _LONGEST:
                said = _("This is too long; at most %(most)d tags fit.") % {"most": tags.MOST}
                raise ValidationError(said, "max_length")
            typed = text.split(",")
        return [self._checked(tag) for tag in self._few(tags.without_repeats(typed))]

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list) else value

    @staticmethod
    def _few(found: list[str]) -> list[str]:
        if len(found) > tags.MOST:
            numbers = {"count": len(found), "most": tags.MOST}
            raise ValidationError(_("These are %(count)d tags; at most %(most)d fit.") % numbers, "too_many")
        return found

    @staticmethod
    def _checked(tag: str) -> str:
        if len(tag) > tags.LONGEST:
            said = _("“%(tag)s…” is %(length)d characters long; a tag has at most %(most)d.")
            raise ValidationError(said % {"tag": tag[:20], "length": len(tag), "most": tags.LONGEST}, "max_length")
        if not tag.isprintable():
            raise ValidationError(_("A tag contains a control character. Remove it."), "control_character")
        return tag


class OneTagField(TagsField):
    """A single tag."""

    def to_python(self, value: Any) -> Any:
        if len(found := super().to_python(value)) > 1:
            raise ValidationError(_("Give one tag, without a comma."), "one_tag")
        return found[0] if found else ""
