from django.urls import path

from schedules.web import actions, bulk, edit, explain, holidays, look, preview, quick_add, reminders

app_name = "schedules"
urlpatterns = [
    path("reminders/", reminders.reminder_list, name="list"),
    path("reminders/new/", edit.new, name="new"),
    path("reminders/preview/", preview.preview, name="preview"),
    path("reminders/job/", look.choose, name="job"),
    path("reminders/look/", look.typed, name="look-typed"),
    path("reminders/quick/", quick_add.understand, name="quick"),
    path("reminders/bulk/", bulk.act, name="bulk"),
    path("reminders/bulk/undo/", bulk.undo, name="bulk-undo"),
    path("holidays/", holidays.collection, name="holidays"),
    path("holidays/<uuid:holiday_id>/", holidays.edit, name="holiday"),
    path("holidays/<uuid:holiday_id>/end/", holidays.end, name="holiday-end"),
    path("holidays/<uuid:holiday_id>/delete/", holidays.delete, name="holiday-delete"),
    path("reminders/<uuid:schedule_id>/", reminders.detail, name="detail"),
    path("reminders/<uuid:schedule_id>/edit/", edit.edit, name="edit"),
    path("reminders/<uuid:schedule_id>/look/", look.of_reminder, name="look"),
    path("reminders/<uuid:schedule_id>/explain/", explain.of_reminder, name="explain"),
    path("reminders/<uuid:schedule_id>/skip/", actions.skip, name="skip"),
    path("reminders/<uuid:schedule_id>/unskip/", actions.unskip, name="unskip"),
    path("reminders/<uuid:schedule_id>/run/", actions.run, name="run"),
    path("reminders/<uuid:schedule_id>/snooze/", actions.snooze, name="snooze"),
    path("reminders/<uuid:schedule_id>/duplicate/", actions.duplicate, name="duplicate"),
    path("reminders/<uuid:schedule_id>/pause/", actions.pause, name="pause"),
    path("reminders/<uuid:schedule_id>/resume/", actions.resume, name="resume"),
    path("reminders/<uuid:schedule_id>/archive/", actions.archive, name="archive"),
    path("reminders/<uuid:schedule_id>/unarchive/", actions.unarchive, name="unarchive"),
    path("reminders/<uuid:schedule_id>/delete/", actions.delete, name="delete"),
    path("reminders/<uuid:schedule_id>/restore/", actions.restore, name="restore"),
]
