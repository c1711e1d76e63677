"""Template tags that name rules, each with a link to its page unless it is deleted."""

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.models import Rule

register = template.Library()


@register.simple_tag
def rule_link(rule: Rule) -> SafeString:
    """ "“Backups”"."""
    if rule.deleted_at:
        return format_html("“{}”", rule.name)
    return format_html('“<a href="{}">{}</a>”', reverse("events:rule", args=[rule.id]), rule.name)
