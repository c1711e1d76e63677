from django.urls import path

from watches.web import badges, status, views

app_name = "watches"
urlpatterns = [
    path("watches/", views.watch_list, name="list"),
    path("watches/new/", views.new, name="new"),
    path("watches/import/", views.upload, name="import"),
    path("watches/key/renew/", views.renew_key, name="renew-key"),
    path("watches/<uuid:watch_id>/", views.detail, name="detail"),
    path("watches/<uuid:watch_id>/edit/", views.edit, name="edit"),
    path("watches/<uuid:watch_id>/pause/", views.pause, name="pause"),
    path("watches/<uuid:watch_id>/resume/", views.resume, name="resume"),
    path("watches/<uuid:watch_id>/delete/", views.delete, name="delete"),
    path("watches/<uuid:watch_id>/restore/", views.restore, name="restore"),
    path("watches/<uuid:watch_id>/pings/<uuid:ping_id>", views.output, name="output"),
    path("watches/badges/", badges.badge_list, name="badges"),
    path("watches/badges/new/", badges.new, name="badge-new"),
    path("watches/badges/<uuid:badge_id>/renew/", badges.renew, name="badge-renew"),
    path("watches/badges/<uuid:badge_id>/delete/", badges.delete, name="badge-delete"),
    path("watches/pages/", status.page_list, name="status-pages"),
    path("watches/pages/new/", status.new, name="status-page-new"),
    path("watches/pages/<uuid:page_id>/", status.edit, name="status-page"),
    path("watches/pages/<uuid:page_id>/delete/", status.delete, name="status-page-delete"),
    path("watches/pages/<uuid:page_id>/subscribers/", status.subscriber_list, name="subscribers"),
    path("watches/pages/incidents/new/", status.publish, name="public-incident-new"),
    path("watches/pages/incidents/<uuid:incident_id>/", status.edit_incident, name="public-incident"),
    path("status/<slug:address>/", status.public, name="status"),
    path("status/<slug:address>/feed", status.feed, name="status-feed"),
    path("status/<slug:address>/subscribe", status.subscribe, name="status-subscribe"),
    path("subscription/<str:token>/", status.by_link, name="subscription"),
    path("badge/<slug:secret>.<slug:ending>", badges.picture, name="badge"),
]
