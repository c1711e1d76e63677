"""The frame of the admin, and its first page."""

from django.templatetags.static import static
from django.utils.translation import gettext_lazy as _

UNFOLD = {
    "SITE_TITLE": "Carillon",
    "SITE_HEADER": "Carillon",
    "SITE_SYMBOL": "notifications",
    "SITE_SUBHEADER": _("Scheduled notifications, sent once"),
    "SIDEBAR": {"navigation": "config.admin.site.navigation"},
    "TABS": "config.admin.site.tabs",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("bell.svg")}],
    "STYLES": [lambda request: static("carillon-admin.css")],
    "SCRIPTS": [lambda request: static("carillon-admin.js")],
    "GLOBAL_CALLBACK": "config.admin.site.context",
}
