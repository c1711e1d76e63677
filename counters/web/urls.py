from django.urls import path

from counters.web import views

app_name = "counters"
urlpatterns = [
    path("counters/", views.counter_list, name="list"),
    path("counters/<slug:name>/", views.detail, name="detail"),
    path("counters/<slug:name>/delete/", views.delete, name="delete"),
]
