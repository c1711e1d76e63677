"""All URLs: the pages of people and, beside them, the admin, the API and the health endpoints."""

from django.contrib import admin
from django.urls import include, path

from api.reference import reference
from api.v1 import api
from config.admin import site
from config.web.health import clock, health, metrics, queues
from jobs.admin import kinds as job_kinds
from schedules.admin import outages, upcoming
from work.admin import health as health_page

admin.autodiscover()
site.protect(admin.site)
handler500 = "config.web.unavailable.server_error"

urlpatterns = [
    path("admin/outages/", admin.site.admin_view(outages.screen), name="outages"),
    path("admin/health/", admin.site.admin_view(health_page.screen), name="work-health"),
    path("admin/job-kinds/", admin.site.admin_view(job_kinds.screen), name="job-kinds"),
    path("admin/upcoming/", admin.site.admin_view(upcoming.screen), name="upcoming"),
    path("admin/", admin.site.urls),
    path("healthz", health, name="health"),
    path("healthz/clock", clock, name="health-clock"),
    path("healthz/queues", queues, name="health-queues"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/docs", reference, name="api-reference"),
    path("api/v1/", api.urls),
    path("api/v3/", include("api.resources.healthchecks")),
    path("", include("api.resources.transfer.views")),
    path("", include("config.page_urls")),
]
