from django.urls import path

from schedules.views import editing, reminders

app_name = "schedules"
urlpatterns = [
    path("reminders/", reminders.reminder_list, name="list"),
    path("reminders/new/", editing.new, name="new"),
    path("reminders/preview/", editing.preview, name="preview"),
    path("reminders/<uuid:schedule_id>/", reminders.detail, name="detail"),
    path("reminders/<uuid:schedule_id>/edit/", editing.edit, name="edit"),
    path("reminders/<uuid:schedule_id>/pause/", editing.pause, name="pause"),
    path("reminders/<uuid:schedule_id>/resume/", editing.resume, name="resume"),
    path("reminders/<uuid:schedule_id>/delete/", editing.delete, name="delete"),
    path("reminders/<uuid:schedule_id>/restore/", editing.restore, name="restore"),
]
