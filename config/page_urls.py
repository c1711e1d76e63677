"""Pages of people. Workers and beats know only these, write links to them, and import neither the admin nor the API."""

from django.conf import settings
from django.urls import include, path

from live.views import socket
from people.web.views import recovery_codes, security_keys

urlpatterns = [
    path("account/second-factor/webauthn/", security_keys, name="security-keys"),
    path("account/second-factor/recovery-codes/", recovery_codes, name="mfa_view_recovery_codes"),
    path("account/second-factor/", include("allauth.mfa.urls")),
    path("account/", include("allauth.account.urls")),
    path("", include("people.web.urls")),
    path("", include("notifications.web.urls")),
    path("", include("jobs.web.urls")),
    path("", include("schedules.web.urls")),
    path("", include("events.web.urls")),
    path("", include("watches.web.urls")),
    path("live/", include(([path("", socket, name="socket")], "live"))),
    path("", include("counters.web.urls")),
]
if settings.OIDC:
    from allauth.socialaccount.providers.openid_connect.views import callback

    from people.sign_in import oidc

    # The names are allauth's, but for the first.
    urlpatterns += [
        path("settings/oidc/", oidc.link, name="oidc-link"),
        path("account/<slug:provider_id>/begin/", oidc.begin, name="openid_connect_login"),
        path("account/<slug:provider_id>/callback/", callback, name="openid_connect_callback"),
    ]
