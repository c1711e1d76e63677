"""Make and change topics. The form has the validation, for the pages and for the API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import F, IntegerField, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.admin.base import AtLeast
from common.numbers import grouped
from events import matching
from events.models import Subscription, Topic
from notifications import text
from people.models import User, validate_printable
from people.user_lock import lock_user

COUNTED = 1_000
"""Subscribers are counted up to here: pages and lists read no more rows of a topic."""


class Refused(Exception):
    """A limit or another topic is in the way; the message is for the person."""


class TopicForm(forms.ModelForm):  # type: ignore[type-arg]  # generic in its stubs alone
    """`slug` is set once: programs publish by it."""

    class Meta:
        model = Topic
        fields = ["name", "slug", "description", "title", "body", "is_open"]
        labels = {
            "slug": gettext_lazy("Short name"),
            "title": gettext_lazy("Title of each message"),
            "body": gettext_lazy("Text of each message"),
            "is_open": gettext_lazy("Anybody with an account may subscribe"),
        }
        help_texts = {
            "slug": gettext_lazy("Letters, digits, “-” and “_”. Programs publish to it by this name."),
            "title": gettext_lazy("{data.…} is filled in from the event, also {type}, {source} and {time}."),
            "is_open": gettext_lazy("If not, only people whom you add."),
        }
        error_messages = {
            "name": {"required": gettext_lazy("Give the topic a name, such as “News”.")},
            "slug": {
                "required": gettext_lazy("Give the topic a short name, such as news."),
                "invalid": gettext_lazy("Use only letters from a to z, digits, “-” and “_”."),
            },
            "title": {"required": gettext_lazy("Write a title, such as {data.title}.")},
        }
        widgets = {"description": forms.Textarea(attrs={"rows": 2}), "body": forms.Textarea(attrs={"rows": 4})}

    def __init__(self, posted: Mapping[str, Any] | None, user: User, topic: Topic | None = None) -> None:
        super().__init__(posted, instance=topic or Topic(user=user))
        if topic is not None:
            del self.fields["slug"]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if Topic.objects.filter(user=self.instance.user, slug=slug).exists():
            raise ValidationError(_("You have a topic “%(slug)s” already. Choose another short name.") % {"slug": slug})
        return slug

    def clean_title(self) -> str:
        return _checked(self.cleaned_data["title"])

    def clean_body(self) -> str:
        body: str = self.cleaned_data["body"]
        if len(body) > text.MAX_BODY:
            raise ValidationError(
                _("This text is %(count)s characters long; at most %(max_body)s are sent.")
                % {"count": grouped(len(body)), "max_body": grouped(text.MAX_BODY)}
            )
        return _checked(body)


class AddressForm(forms.Form):
    """Whom to add to a topic."""

    address = forms.EmailField(
        label=gettext_lazy("Email address of an account"),
        max_length=254,
        validators=[validate_printable],
        error_messages={
            "required": gettext_lazy("Enter an email address, such as ada@example.org."),
            "invalid": gettext_lazy("This is not an email address. Enter one such as ada@example.org."),
        },
    )


def _checked(template: str) -> str:
    if problems := matching.check(template):
        raise ValidationError(problems)
    return template


def create(form: TopicForm) -> Topic:
    """Save the valid form of a new topic. Raises Refused."""
    user = form.instance.user
    with lock_user(user):
        if Topic.objects.filter(user=user).count() >= settings.MOST_TOPICS:
            raise Refused(
                _("You have %(most_topics)s topics, which is the limit. Delete one that you no longer need.")
                % {"most_topics": settings.MOST_TOPICS}
            )
        topic, made = Topic.objects.get_or_create(user=user, slug=form.instance.slug, defaults=form.cleaned_data)
        if not made:  # another tab was first
            raise Refused(_("You have a topic “%(slug)s” already. Choose another short name.") % {"slug": topic.slug})
        return topic


def change(form: TopicForm) -> Topic:
    """Save the valid form of a topic, as its next version."""
    topic: Topic = form.instance
    topic.version = F("version") + 1
    topic.save()
    topic.refresh_from_db(fields=["version"])
    return topic


class _Count(Subquery):
    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()


def with_subscribers(topics: QuerySet[Topic]) -> QuerySet[Topic]:
    """With their number as `subscribers`, counted up to one more than `COUNTED`."""
    found = Subscription.objects.current().filter(topic=OuterRef("id")).order_by().values("id")
    return topics.annotate(subscribers=_Count(found[: COUNTED + 1]))


def shown_count(subscribers: int) -> str:
    return str(AtLeast(subscribers) if subscribers > COUNTED else subscribers)
