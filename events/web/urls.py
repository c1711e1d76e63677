from django.urls import path

from events.web import receive

app_name = "events"
urlpatterns = [
    path("in/<str:token>", receive.post, name="receive"),
]
