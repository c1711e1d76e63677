from django.urls import path

from schedules.views import editing, explaining, next_firing, previewing, reminders

app_name = "schedules"
urlpatterns = [
    path("reminders/", reminders.reminder_list, name="list"),
    path("reminders/new/", editing.new, name="new"),
    path("reminders/preview/", previewing.preview, name="preview"),
    path("reminders/<uuid:schedule_id>/", reminders.detail, name="detail"),
    path("reminders/<uuid:schedule_id>/edit/", editing.edit, name="edit"),
    path("reminders/<uuid:schedule_id>/explain/", explaining.of_reminder, name="explain"),
    path("reminders/<uuid:schedule_id>/skip/", next_firing.skip, name="skip"),
    path("reminders/<uuid:schedule_id>/unskip/", next_firing.unskip, name="unskip"),
    path("reminders/<uuid:schedule_id>/run/", next_firing.run, name="run"),
    path("reminders/<uuid:schedule_id>/snooze/", next_firing.snooze, name="snooze"),
    path("reminders/<uuid:schedule_id>/duplicate/", next_firing.duplicate, name="duplicate"),
    path("reminders/<uuid:schedule_id>/pause/", editing.pause, name="pause"),
    path("reminders/<uuid:schedule_id>/resume/", editing.resume, name="resume"),
    path("reminders/<uuid:schedule_id>/delete/", editing.delete, name="delete"),
    path("reminders/<uuid:schedule_id>/restore/", editing.restore, name="restore"),
]
