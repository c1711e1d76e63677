"""The request of somebody who is signed in, as views behind `login_required` see it."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from people.models import User


class PersonRequest(HttpRequest):
    user: User
    htmx: HtmxDetails
