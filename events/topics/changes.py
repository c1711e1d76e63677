"""Make and change topics. The form has the validation, for the pages and for the API."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import IntegerField, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _, gettext_lazy

from common.admin.base import AtLeast
from common.forms.not_possible import NotPossible
from events.models import Subscription, Topic
from events.pure import matching
from notifications.inputs.text_fields import BodyField, TitleField
from people.models import User, validate_printable
from people.user_lock import lock_user

COUNTED = 1_000
"""Subscribers are counted up to here: pages and lists read no more rows of a topic."""


class TopicForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs alone
    """`slug` is set once: programs publish by it. `version` is the one that was edited; empty: any."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    title = TitleField(check=matching.check, example="{data.title}")
    body = BodyField(check=matching.check, help_text="")

    class Meta:
        model = Topic
        fields = ["name", "slug", "description", "title", "body", "is_open"]
        labels = {"slug": gettext_lazy("Short name"), "is_open": gettext_lazy("Anybody with an account may subscribe")}
        help_texts = {
            "slug": gettext_lazy("Letters, digits, “-” and “_”. Programs publish to it by this name."),
            "is_open": gettext_lazy("If not, only people whom you add."),
        }
        error_messages = {
            "name": {"required": gettext_lazy("Give the topic a name, such as “News”.")},
            "slug": {
                "required": gettext_lazy("Give the topic a short name, such as news."),
                "invalid": gettext_lazy("Use only letters from a to z, digits, “-” and “_”."),
            },
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, posted: Mapping[str, Any] | None, user: User, topic: Topic | None = None) -> None:
        super().__init__(posted, instance=topic or Topic(user=user))
        self.fields["title"].label = _("Title of each message")
        self.fields["title"].help_text = _("{data.…} is filled in from the event, also {type}, {source} and {time}.")
        self.fields["body"].label = _("Text of each message")
        if topic is not None:
            del self.fields["slug"]
            self.initial["version"] = topic.version

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if Topic.objects.filter(user=self.instance.user, slug=slug).exists():
            raise ValidationError(_taken(slug))
        return slug


class AddressForm(forms.Form):
    address = forms.EmailField(
        label=gettext_lazy("Email address of an account"),
        max_length=254,
        validators=[validate_printable],
        error_messages={
            "required": gettext_lazy("Enter an email address, such as ada@example.org."),
            "invalid": gettext_lazy("This is not an email address. Enter one such as ada@example.org."),
        },
    )


def create(form: TopicForm) -> Topic:
    """Save the valid form of a new topic. Raises NotPossible."""
    user = form.instance.user
    values = {name: form.cleaned_data[name] for name in form.Meta.fields}
    with lock_user(user):
        if Topic.objects.filter(user=user).count() >= settings.MOST_TOPICS:
            problem = _("You have %(most_topics)s topics, which is the limit. Delete one that you no longer need.")
            raise NotPossible(problem % {"most_topics": settings.MOST_TOPICS})
        topic, made = Topic.objects.get_or_create(user=user, slug=form.instance.slug, defaults=values)
        if not made:  # another tab was first
            raise NotPossible(_taken(topic.slug))
        return topic


def _taken(slug: str) -> str:
    return _("You have a topic “%(slug)s” already. Choose another short name.") % {"slug": slug}


class _Count(Subquery):
    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def with_subscribers(topics: QuerySet[Topic]) -> QuerySet[Topic]:
    """With their number as `subscribers`, counted up to one more than `COUNTED`."""
    current = Subscription.objects.current().filter(topic=OuterRef("id")).order_by().values("id")
    return topics.annotate(subscribers=_Count(current[: COUNTED + 1]))


def shown_count(subscribers: int) -> str:
    return str(AtLeast(subscribers) if subscribers > COUNTED else subscribers)
