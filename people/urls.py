from django.urls import path

from people import views

app_name = "people"
urlpatterns = [
    path("", views.home, name="home"),
    path("address/refuse/<str:key>/", views.refuse_address, name="refuse-address"),
    path("settings/", views.own_settings, name="settings"),
]
