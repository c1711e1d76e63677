"""The type of requests in views behind `login_required`."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from people.models import User


class PersonRequest(HttpRequest):
    user: User
    htmx: HtmxDetails
