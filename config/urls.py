from django.contrib import admin
from django.urls import include, path

from config.health import clock, health

urlpatterns = [
    path("admin/", admin.site.urls),
    path("account/", include("allauth.account.urls")),
    path("healthz", health, name="health"),
    path("healthz/clock", clock, name="health-clock"),
    path("", include("people.urls")),
    path("", include("notifications.urls")),
    path("", include("schedules.urls")),
]
