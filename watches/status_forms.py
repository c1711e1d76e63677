"""The forms of status pages and of the incidents on them."""

from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator
from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from common.texts.written import check_text
from people.models import User
from watches import subscribers
from watches.models import PublicIncident, StatusMail, StatusPage, Watch
from watches.status import MOST_WATCHES


class StatusPageForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs alone
    class Meta:
        model = StatusPage
        fields = ["title", "slug", "intro", "watches", "enabled"]
        labels = {
            "slug": _("End of its address"),
            "intro": _("Introduction"),
            "watches": _("Watches"),
            "enabled": _("Everybody who knows the address can read it"),
        }
        help_texts = {
            "slug": _("Letters, digits, “-” and “_”. Only those to whom you give it find the random one."),
            "watches": _("Shown with their names, states and uptime; never what pings sent."),
        }
        error_messages = {
            "title": {"required": _("Enter a title, such as “Status of our services”.")},
            "slug": {
                "required": _("Enter how its address ends, such as our-services."),
                "invalid": _("Use only letters from a to z, digits, “-” and “_”."),
                "unique": _("This address is taken. Choose another."),
            },
        }
        widgets = {"intro": forms.Textarea(attrs={"rows": 2}), "watches": forms.CheckboxSelectMultiple}

    def __init__(self, data: Any, user: User, page: StatusPage | None = None) -> None:
        super().__init__(data, instance=page or StatusPage(user=user))
        for name in ("title", "intro"):
            self.fields[name].validators.append(check_text)
        field: Any = self.fields["watches"]
        field.queryset = Watch.objects.for_user(user).order_by("name", "id")
        field.validators = [MaxLengthValidator(MOST_WATCHES, _("Choose at most %(limit_value)d."))]

    def clean_slug(self) -> str:
        return str(self.cleaned_data["slug"]).lower()


class PublicIncidentForm(forms.ModelForm):  # type: ignore[type-arg]
    is_over = forms.BooleanField(label=_("It is over"), required=False)

    class Meta:
        model = PublicIncident
        fields = ["page", "title", "text"]
        labels = {"page": _("Status page"), "text": _("Text")}
        help_texts = {"text": _("What happened, whom it affects, and what comes next. Everybody can read it.")}
        error_messages = {"title": {"required": _("Enter a title, such as “Payments are delayed”.")}}
        widgets = {"text": forms.Textarea(attrs={"rows": 5})}

    def __init__(self, data: Any, user: User, incident: PublicIncident, **initial: Any) -> None:
        is_new = incident._state.adding
        super().__init__(data, instance=incident, initial=initial | {"is_over": incident.ended_at is not None})
        for name in ("title", "text"):
            self.fields[name].validators.append(check_text)
        field: Any = self.fields["page"]
        field.queryset, field.empty_label = StatusPage.objects.for_user(user), None
        del self.fields["is_over" if is_new else "page"]

    @transaction.atomic
    def save(self, commit: bool = True) -> PublicIncident:
        """Publish it, and tell the subscribers of its page what is new."""
        incident: PublicIncident = self.instance
        is_new = incident._state.adding
        incident.updated_at = Now()
        if not self.cleaned_data.get("is_over"):
            incident.ended_at = None
        elif incident.ended_at is None:
            incident.ended_at = Now()
        saved: PublicIncident = super().save(commit)
        if is_new or self.has_changed():
            subscribers.tell(saved, StatusMail.What.OPENED if is_new else StatusMail.What.UPDATED)
        return saved
