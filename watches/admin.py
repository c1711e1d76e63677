"""Watches, and what strangers see of them, in the admin, read only: their owners change them on their own pages."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from common.admin import columns
from common.admin.base import ReadOnlyInline
from common.admin.filters import Period
from notifications.admin import cells
from people.admin.user import OwnedAdmin
from watches import timing
from watches.models import Badge, DeadLetter, Ping, StatusMail, StatusPage, Watch
from watches.status_pages import status
from watches.status_pages.mail import STATUS_MAIL
from work.admin.dead_letter import DeadLetterAdmin
from work.admin.rows import WorkAdmin


class PingInline(ReadOnlyInline):
    model = Ping
    verbose_name_plural = _("last pings")
    fields = ("when", "kind", "exit_code", "size", "took")
    per_page = 20
    deferred = ("output",)

    when = columns.instant_column(_("when"), "at")
    took = columns.column(_("duration"), "", lambda ping: timing.length(ping.seconds))


@admin.register(Watch)
class WatchAdmin(OwnedAdmin):
    list_display = ("name", "person", "when", "state", "last_ping", "deadline_at")
    list_filter = (Period,)
    fields = (
        ("name", "person"),
        "when",
        ("state", "state_changed"),
        ("last_ping", "deadline_at"),
        "to_channels",
        ("urgent", "opens_incident"),
        ("id", "version"),
        ("created", "deleted"),
    )
    empty_text = _("No watches yet. People make them on their own pages.")
    inlines = (PingInline,)

    when = columns.column(_("expected"), "", timing.when)
    last_ping = columns.instant_column(_("last ping"), "last_ping_at")
    deadline_at = columns.instant_column(_("deadline"), "deadline")
    state_changed = columns.instant_column(_("since"), "state_since")
    to_channels = columns.column(_("channels"), "", cells.channels)


@admin.register(Badge)
class BadgeAdmin(OwnedAdmin):
    list_display = ("shows", "person")
    list_select_related = ("watch", "user")
    fields = (("shows", "person"), "id")
    empty_text = _("No badges yet. People make them on their own pages.")

    shows = columns.column(_("watch or tag"), "", str)


@admin.register(StatusPage)
class StatusPageAdmin(OwnedAdmin):
    list_display = ("title", "person", "enabled")
    fields = ("title", ("person", "enabled"), "intro", "shown", "subscribed", "id")
    empty_text = _("No status pages yet. People make them on their own pages.")

    shown = columns.column(_("watches"), "", lambda page: ", ".join(map(str, status.watches_of(page))))
    subscribed = columns.column(
        _("subscribers"), "", lambda page: page.subscribers.filter(confirmed_at__isnull=False).count()
    )


@admin.register(StatusMail)
class StatusMailAdmin(WorkAdmin):
    kind = STATUS_MAIL
    list_display = ("what", "state_label", "why", "to", "page", "person", "available", "settled")
    empty_text = _("No status page has mailed its subscribers yet.")
    about = (("what", "person"), ("to", "page"), "incident")
    related = ("user", "subscriber__page", "incident")
    search_ids = ("subscriber_id",)
    search_help_text = _("The id of a mail, or of its subscriber.")

    to = columns.column(_("to"), "subscriber")
    page = columns.column(_("status page"), "subscriber.page")


@admin.register(DeadLetter)
class DeadStatusMailAdmin(DeadLetterAdmin, StatusMailAdmin):
    list_display = ("what", "state_label", "why", "to", "person", "settled", "tries", "replays")
