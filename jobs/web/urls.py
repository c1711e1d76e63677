from django.urls import path

from jobs.web import batches, connections

app_name = "jobs"
urlpatterns = [
    path("job-kinds/", connections.kind_list, name="kinds"),
    path("connections/", connections.connection_list, name="connections"),
    path("connections/new/", connections.choose, name="connection-new"),
    path("connections/new/<slug:source>/", connections.add, name="connection-add"),
    path("connections/<uuid:connection_id>/", connections.connection, name="connection"),
    path("connections/<uuid:connection_id>/check/", connections.check, name="connection-check"),
    path("connections/<uuid:connection_id>/remove/", connections.remove, name="connection-remove"),
    path("batches/", batches.batch_list, name="batches"),
    path("batches/<uuid:batch_id>/", batches.batch, name="batch"),
    path("batches/<uuid:batch_id>/progress/", batches.progress, name="batch-progress"),
    path("batches/<uuid:batch_id>/cancel/", batches.cancel, name="batch-cancel"),
    path("batches/<uuid:batch_id>/replay/", batches.replay, name="batch-replay"),
    path("announcements/<uuid:announcement_id>/stop/", batches.stop_by_button, name="stop-own"),
    path("stop/<str:token>/", batches.stop_by_link, name="stop"),
]
