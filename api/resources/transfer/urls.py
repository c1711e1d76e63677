from django.urls import path

from api.resources.transfer import views

app_name = "transfer"
urlpatterns = [
    path("settings/export/", views.download, name="export"),
    path("settings/import/", views.upload, name="import"),
]
