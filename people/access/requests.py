"""The type of requests in views behind `login_required`, and views that also ask again who it is."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec

from allauth.account.decorators import reauthentication_required
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, QueryDict
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_http_methods
from django_htmx.middleware import HtmxDetails

from people.models import User

P = ParamSpec("P")


class PersonRequest(HttpRequest):
    user: User
    htmx: HtmxDetails


def posted(request: HttpRequest) -> QueryDict | None:
    """The data for a form; None while its page is only shown."""
    return request.POST if request.method == "POST" else None


View = Callable[Concatenate[PersonRequest, P], HttpResponseBase]


def sensitive(view: View[P]) -> View[P]:
    """For people who have confirmed within five minutes that it is them: a stolen session does not pass."""
    recent: View[P] = reauthentication_required(view)
    allowed: View[P] = require_http_methods(["GET", "HEAD", "POST"])(recent)
    return login_required(allowed)
