from django.urls import path

from jobs.web import connections

app_name = "jobs"
urlpatterns = [
    path("connections/", connections.connection_list, name="connections"),
    path("connections/new/", connections.choose, name="connection-new"),
    path("connections/new/<slug:source>/", connections.add, name="connection-add"),
    path("connections/<uuid:connection_id>/", connections.connection, name="connection"),
    path("connections/<uuid:connection_id>/check/", connections.check, name="connection-check"),
    path("connections/<uuid:connection_id>/remove/", connections.remove, name="connection-remove"),
]
