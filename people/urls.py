from django.urls import path

from people import views

app_name = "people"
urlpatterns = [
    path("", views.home, name="home"),
    path("settings/", views.own_settings, name="settings"),
]
