"""The forms of status pages and of the incidents on them."""

from datetime import timedelta
from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.http import Http404
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.texts.written import check_line, check_text
from common.uuid7 import first_of
from people.models import User
from watches.models import PublicIncident, StatusMail, StatusPage, Watch
from watches.status_pages import status, subscribers

_SENT_TWICE = timedelta(minutes=1)


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
        self._user, self._slug = user, self.instance.slug
        self.fields["title"].validators.append(check_line)
        self.fields["intro"].validators.append(check_text)
        field: Any = self.fields["watches"]
        field.queryset = Watch.objects.for_user(user).order_by("name", "id")
        field.validators = [MaxLengthValidator(status.MOST_WATCHES, _("Choose at most %(limit_value)d."))]

    def clean_slug(self) -> str:
        return str(self.cleaned_data["slug"]).lower()

    def clean(self) -> dict[str, Any] | None:
        if self.instance._state.adding and StatusPage.objects.for_user(self._user).count() >= status.MOST_PAGES:
            text = _("You have %(most)s status pages, the limit.") % {"most": status.MOST_PAGES}
            raise forms.ValidationError(text, "limit_reached")
        return super().clean()

    @transaction.atomic
    def save(self, commit: bool = True) -> StatusPage | None:
        """None, with an error of the field, where somebody took its slug since the form was checked.

        Raises Http404 where it was deleted meanwhile.
        """
        _lock(self.instance)
        try:
            with transaction.atomic():
                saved: StatusPage = super().save(commit)
        except IntegrityError:
            self.add_error("slug", self.fields["slug"].error_messages["unique"])
            return None
        status.forget(self._slug, saved.slug)
        return saved


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
        self._before = _public(incident)
        super().__init__(data, instance=incident, initial=initial | {"is_over": incident.ended_at is not None})
        self.fields["title"].validators.append(check_line)
        self.fields["text"].validators.append(check_text)
        field: Any = self.fields["page"]
        field.queryset, field.empty_label = StatusPage.objects.for_user(user), None
        del self.fields["is_over" if is_new else "page"]

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or {}
        if self.instance._state.adding and (page := cleaned.get("page")) is not None:
            yesterday = first_of(timezone.now() - timedelta(days=1))
            if page.incidents.filter(id__gt=yesterday).count() >= status.NEW_A_DAY:
                text = _("This page got %(most)s incidents within a day, the limit.") % {"most": status.NEW_A_DAY}
                raise forms.ValidationError(text, "limit_reached")
        return cleaned

    def clean_text(self) -> str:
        """Browsers send two characters for a line break."""
        return str(self.cleaned_data["text"]).replace("\r\n", "\n")

    @transaction.atomic
    def save(self, commit: bool = True) -> PublicIncident:
        """Publish it, and tell the subscribers of its page what is new.

        A new one in the words of one that was published within the last minute is that one: its form was sent twice.
        The caller holds the person's lock. Raises Http404 where it was deleted meanwhile.
        """
        incident: PublicIncident = self.instance
        _lock(incident)
        is_new = incident._state.adding
        if is_new:
            recent = incident.page.incidents.filter(id__gt=first_of(timezone.now() - _SENT_TWICE), ended_at=None)
            if (same := recent.filter(title=incident.title, text=incident.text).first()) is not None:
                return same
        incident.updated_at = Now()
        if not self.cleaned_data.get("is_over"):
            incident.ended_at = None
        elif incident.ended_at is None:
            incident.ended_at = Now()
        saved: PublicIncident = super().save(commit)
        status.forget(saved.page.slug)
        if is_new or _public(saved) != self._before:
            subscribers.tell(saved, StatusMail.Type.OPENED if is_new else StatusMail.Type.UPDATED)
        return saved


def _public(incident: PublicIncident) -> tuple[str, str, bool]:
    """Return the parts of which subscribers are notified."""
    return incident.title, incident.text.replace("\r\n", "\n"), incident.ended_at is None


def _lock(row: StatusPage | PublicIncident) -> None:
    """Lock a stored row. Raises Http404 if another tab has deleted it, so that it does not come back."""
    same = type(row)._default_manager.select_for_update(no_key=True).filter(pk=row.pk)
    if not row._state.adding and not same.exists():
        raise Http404
