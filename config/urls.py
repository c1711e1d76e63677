from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from config.health import clock, health
from schedules.admin.outages import screen

# The admin's own sign-in would neither be throttled nor know of anything that allauth asks for.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("admin/outages/", admin.site.admin_view(screen), name="outages"),
    path("admin/", admin.site.urls),
    path("account/", include("allauth.account.urls")),
    path("healthz", health, name="health"),
    path("healthz/clock", clock, name="health-clock"),
    path("", include("people.urls")),
    path("", include("notifications.urls")),
    path("", include("schedules.urls")),
]
