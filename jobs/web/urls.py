from django.urls import path

from jobs.web import kinds

app_name = "jobs"
urlpatterns = [
    path("job-kinds/", kinds.kind_list, name="kinds"),
]
