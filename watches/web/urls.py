from django.urls import path

from watches.web import badges, views

app_name = "watches"
urlpatterns = [
    path("watches/", views.watch_list, name="list"),
    path("watches/new/", views.new, name="new"),
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
    path("badge/<slug:secret>.<slug:ending>", badges.picture, name="badge"),
]
