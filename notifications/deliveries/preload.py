"""Load at a worker's start what its first message would otherwise wait for, some hundred milliseconds."""

from typing import Any

from celery import signals
from django.core import mail
from django.template.loader import get_template
from django.urls import get_resolver

from notifications import providers
from notifications.net.deadline import tls_context
from notifications.providers import apprise_requests


@signals.worker_init.connect
def preload(**_: Any) -> None:
    """Before the pool is made, so that forked children have it too."""
    providers.all()
    tls_context()
    mail.get_connection()
    get_template("notifications/mail.html")
    _ = get_resolver().reverse_dict  # of all URLs, for the links in messages
    apprise_requests.load("gotify")  # any service: the library beneath them is what takes long
