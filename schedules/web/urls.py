from django.urls import path

from schedules.web import edit, explain, next_slot, preview, reminders

app_name = "schedules"
urlpatterns = [
    path("reminders/", reminders.reminder_list, name="list"),
    path("reminders/new/", edit.new, name="new"),
    path("reminders/preview/", preview.preview, name="preview"),
    path("reminders/<uuid:schedule_id>/", reminders.detail, name="detail"),
    path("reminders/<uuid:schedule_id>/edit/", edit.edit, name="edit"),
    path("reminders/<uuid:schedule_id>/explain/", explain.of_reminder, name="explain"),
    path("reminders/<uuid:schedule_id>/skip/", next_slot.skip, name="skip"),
    path("reminders/<uuid:schedule_id>/unskip/", next_slot.unskip, name="unskip"),
    path("reminders/<uuid:schedule_id>/run/", next_slot.run, name="run"),
    path("reminders/<uuid:schedule_id>/snooze/", next_slot.snooze, name="snooze"),
    path("reminders/<uuid:schedule_id>/duplicate/", next_slot.duplicate, name="duplicate"),
    path("reminders/<uuid:schedule_id>/pause/", edit.pause, name="pause"),
    path("reminders/<uuid:schedule_id>/resume/", edit.resume, name="resume"),
    path("reminders/<uuid:schedule_id>/delete/", edit.delete, name="delete"),
    path("reminders/<uuid:schedule_id>/restore/", edit.restore, name="restore"),
]
