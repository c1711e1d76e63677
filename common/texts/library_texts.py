"""Texts that are written elsewhere, for our catalogues: libraries have no translation, or none that says "du"."""

from django.utils.translation import gettext_noop as _

FIELDS = (
    _("audience key"), _("data"), _("disabled reason"), _("excluded"), _("fields"), _("headers"), _("hops"), _("id"),
    _("job kind"), _("key value"), _("max count"), _("notification id"), _("on error"), _("options"), _("origin id"),
    _("payload"), _("queue"), _("reached"), _("type pattern"),
)  # fmt: skip
UNFOLD = (
    _("All applications"), _("Apply Filters"), _("Clear all filters"), _("Date"), _("Expand row"), _("Go back"),
    _("Loading more results..."), _("More actions"), _("No recent searches"), _("No results found"),
    _("Recent searches"), _("Reset filters"), _("Run"), _("Run the selected action"), _("Search apps and models..."),
    _("Select action"), _("Select action to run"), _("Select all rows"), _("Select record"), _("Select value"),
    _("This page yielded into no results. Create a new item or reset your filters."), _("Time"),
    _("Toggle password visibility"), _("Type to search"),
)  # fmt: skip
ALLAUTH = (
    _("Use authenticator app or code"), _("Use your password"), _("You cannot deactivate two-factor authentication."),
    _("You cannot add an email address to an account protected by two-factor authentication."),
    _("You cannot generate recovery codes without having two-factor authentication enabled."),
    _("You cannot activate two-factor authentication until you have verified your email address."),
)  # fmt: skip
