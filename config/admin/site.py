"""Access to the admin, its navigation and its theme."""

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlencode

from allauth.account.decorators import secure_admin_login
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.html import format_html
from django.utils.translation import gettext as _, gettext_lazy

from common.admin import rights
from common.admin.damaged import SafeAutocomplete
from common.texts.types import StrOrPromise
from config.admin import dashboard
from jobs.admin import kinds as job_kinds
from people.models import Theme, User
from people.sign_in import second_factor
from people.web import themes
from schedules.admin import upcoming
from work.admin import health
from work.kinds import KINDS, Kind

# (title, model, icon), of what people have and what was made of it; then of what is set up.
_DATA = [
    (gettext_lazy("Schedules"), "schedules.schedule", "calendar_month"),
    (gettext_lazy("Occurrences"), "schedules.occurrence", "event_available"),
    (gettext_lazy("Watches"), "watches.watch", "visibility"),
    (gettext_lazy("Status pages"), "watches.statuspage", "signpost"),
    (gettext_lazy("Status mails"), "watches.statusmail", "mail"),
    (gettext_lazy("Badges"), "watches.badge", "verified"),
    (gettext_lazy("Counters"), "counters.shard", "pin"),
    (gettext_lazy("Notifications"), "notifications.notification", "notifications"),
    (gettext_lazy("Deliveries"), "notifications.delivery", "send"),
    (gettext_lazy("Messages on boards"), "notifications.boardmessage", "dashboard"),
    (gettext_lazy("Jobs"), "jobs.job", "search"),
    (gettext_lazy("Batches"), "jobs.batch", "groups"),
    (gettext_lazy("Events"), "events.event", "bolt"),
    (gettext_lazy("Digests"), "events.digest", "stacks"),
    (gettext_lazy("Runs of flows"), "events.run", "account_tree"),
    (gettext_lazy("Steps"), "events.step", "footprint"),
    (gettext_lazy("Interventions"), "work.intervention", "history_edu"),
    (gettext_lazy("Task results"), "django_celery_results.taskresult", "task_alt"),
    (gettext_lazy("Security events"), "people.securityevent", "shield"),
]
_SETUP = [
    (gettext_lazy("People"), "people.user", "person"),
    (gettext_lazy("Email addresses"), "account.emailaddress", "alternate_email"),
    (gettext_lazy("Refused mailboxes"), "people.refusedmailbox", "unsubscribe"),
    (gettext_lazy("Second factors"), "mfa.authenticator", "key"),
    (gettext_lazy("API tokens"), "people.apitoken", "vpn_key"),
    (gettext_lazy("Groups"), "auth.group", "group"),
    (gettext_lazy("Channels"), "notifications.channel", "hub"),
    (gettext_lazy("Connections"), "jobs.connection", "cable"),
    (gettext_lazy("Rules"), "events.rule", "rule"),
    (gettext_lazy("Topics"), "events.topic", "campaign"),
    (gettext_lazy("Inbound addresses"), "events.inboundaddress", "move_to_inbox"),
    (gettext_lazy("Periodic tasks"), "django_celery_beat.periodictask", "timer"),
]
_OFFERED = "second factor offered"


def protect(site: AdminSite) -> None:
    """Admit staff who signed in with allauth, which limits tries, and with a second factor if BASE_URL is https."""
    stock_permission, stock_login, stock_index = site.has_permission, secure_admin_login(site.login), site.index
    stock_app_list = site.get_app_list

    def has_permission(request: HttpRequest) -> bool:
        return stock_permission(request) and not _lacks_factor(request)

    def login(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if stock_permission(request) and _lacks_factor(request):
            if second_factor.is_set_up(_staff(request)):
                after = {"next": request.GET.get("next") or reverse("admin:index")}
                return redirect(f"{second_factor.where_to_show(_staff(request))}?{urlencode(after)}")
            messages.info(request, _("Staff need a second factor. Set one up to open the admin."))
            return redirect("mfa_index")
        return stock_login(request, extra_context)

    def index(request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        if has_permission(request) and not second_factor.is_set_up(_staff(request)) and _OFFERED not in request.session:
            request.session[_OFFERED] = True
            text = _(
                'You signed in with your password only. <a class="text-link" href="{}">Set up a second factor</a>; '
                "with an https address, staff must have one."
            )
            messages.info(request, format_html(text, reverse("mfa_index")))
        board = dashboard.context(request) if has_permission(request) else {}
        return stock_index(request, {"title": _("Dashboard"), **(extra_context or {}), **board})

    def get_app_list(request: HttpRequest, app_label: str | None = None) -> Any:
        """Made only if a page shows it; most show our navigation instead."""
        return SimpleLazyObject(lambda: stock_app_list(request, app_label))

    # The site is unfold's own, where all models are registered: no subclass of ours could be in its place.
    site.has_permission, site.login, site.index = has_permission, login, index  # type: ignore[method-assign]
    site.get_app_list = get_app_list  # type: ignore[method-assign]
    site.autocomplete_view = SafeAutocomplete.as_view(admin_site=site)  # type: ignore[assignment, method-assign]


def _staff(request: HttpRequest) -> User:
    """The user, once the stock admin admits them."""
    return cast(User, request.user)


def _lacks_factor(request: HttpRequest) -> bool:
    return settings.SECOND_FACTOR_FOR_STAFF and not second_factor.was_shown(request, _staff(request))


def context(request: HttpRequest) -> dict[str, Any]:
    """No inline colours: our style sheet has them, and the Content-Security-Policy forbids inline styles.

    The account's theme; with "system", the admin has a switch of its own.
    """
    theme = themes.chosen(request)
    return {"colors": None, "theme": None if theme == Theme.SYSTEM else theme}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    now = [
        _page(_("Dashboard"), "dashboard", "admin:index"),
        # Its address is the beginning of every other.
        _page(_("View site"), "arrow_back", "people:home") | {"active": lambda request: False},
        _page(_("Health"), "monitor_heart", "work-health", health.may_see),
        _page(_("Upcoming"), "schedule", "upcoming", upcoming.may_see),
        _page(_("Outages"), "emergency_home", "outages", lambda by: by.user.has_perm("schedules.change_schedule")),
    ]
    if seen := [tab for tab in _dead_letters() if tab["permission"](request)]:
        now.append(seen[0] | {"title": _("Dead letters"), "icon": "unsubscribe"})
    setup = [_page(_("Kinds of job"), "category", "job-kinds", job_kinds.may_see), *(_list(*one) for one in _SETUP)]
    return [
        {"title": _("Now"), "items": now},
        {"title": _("Data"), "separator": True, "items": [_list(*one) for one in _DATA]},
        {"title": _("Setup"), "separator": True, "items": setup},
    ]


def tabs(request: HttpRequest) -> list[dict[str, Any]]:
    """One row of tabs, on the pages of dead letters: unfold compares each tab with each entry of the sidebar."""
    items = _dead_letters()
    if not any(one["active"](request) for one in items):
        return []
    models = [_model(kind) for kind in KINDS.values()]
    return [{"models": [*models, *({"name": model, "detail": True} for model in models)], "items": items}]


def _model(kind: Kind[Any]) -> str:
    return kind.dead_letters.removeprefix("admin:").replace("_", ".", 1)


def _dead_letters() -> list[dict[str, Any]]:
    """Of each kind of work, the page of causes is shown first."""

    def tab(kind: Kind[Any]) -> dict[str, Any]:
        all_pages = reverse(f"{kind.dead_letters}_changelist")
        return {
            "title": kind.counted(2).capitalize(),
            "link": reverse(f"{kind.dead_letters}_causes"),
            "permission": rights.may_see(_model(kind)),
            "active": lambda request: request.path.startswith(all_pages),
        }

    return [tab(kind) for kind in KINDS.values()]


def _list(title: StrOrPromise, model: str, icon: str) -> dict[str, Any]:
    return _page(title, icon, f"admin:{model.replace('.', '_')}_changelist", rights.may_see(model))


def _page(
    title: StrOrPromise, icon: str, name: str, may_see: Callable[[HttpRequest], bool] | None = None
) -> dict[str, Any]:
    """An entry for the page with the URL name `name`; without `may_see`, all staff have it."""
    return {"title": title, "icon": icon, "link": reverse(name), "permission": may_see}
