"""The peer of `bench.pings`: the view of Healthchecks 4 that takes a ping, with its statements, as bare Django.

It finds the check, and in one transaction locks it, saves all of its columns, and inserts the ping. Left out, in the
peer's favour: its middleware, keywords, flips, and the deletion of old pings at each hundredth.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import ClassVar
from uuid import UUID

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

import django
from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection, models, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseNotFound
from django.urls import path
from django.utils import timezone

django.setup()
settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
application = WSGIHandler()


class Check(models.Model):
    code = models.UUIDField(unique=True)
    name = models.CharField(max_length=100, default="Backup")
    slug = models.CharField(max_length=100, default="backup")
    tags = models.CharField(max_length=500, default="")
    desc = models.TextField(default="")
    kind = models.CharField(max_length=10, default="simple")
    timeout = models.DurationField(default=timedelta(days=10))
    grace = models.DurationField(default=timedelta(minutes=5))
    schedule = models.CharField(max_length=1000, default="* * * * *")
    tz = models.CharField(max_length=36, default="UTC")
    created = models.DateTimeField(auto_now_add=True)
    n_pings = models.IntegerField(default=0)
    last_ping = models.DateTimeField(null=True)
    last_start = models.DateTimeField(null=True)
    last_duration = models.DurationField(null=True)
    has_confirmation_link = models.BooleanField(default=False)
    alert_after = models.DateTimeField(null=True, db_index=True)
    status = models.CharField(max_length=6, default="up")

    objects: ClassVar[models.Manager[Check]] = models.Manager()

    class Meta:
        app_label = "bench_pings"


class Ping(models.Model):
    n = models.IntegerField(null=True)
    owner = models.ForeignKey(Check, models.CASCADE)
    created = models.DateTimeField()
    scheme = models.CharField(max_length=10, default="http")
    remote_addr = models.GenericIPAddressField(null=True)
    method = models.CharField(max_length=10)
    ua = models.CharField(max_length=200)
    body_raw = models.BinaryField(null=True)
    exitstatus = models.SmallIntegerField(null=True)
    rid = models.UUIDField(null=True)

    objects: ClassVar[models.Manager[Ping]] = models.Manager()

    class Meta:
        app_label = "bench_pings"


def make_checks(codes: list[UUID]) -> None:
    with connection.schema_editor() as editor:
        editor.create_model(Check)
        editor.create_model(Ping)
    Check.objects.bulk_create(Check(code=code) for code in codes)


def ping(request: HttpRequest, code: UUID) -> HttpResponse:
    try:
        check = Check.objects.get(code=code)
    except Check.DoesNotExist:
        return HttpResponseNotFound("not found")
    body = request.body
    with transaction.atomic():
        check = Check.objects.select_for_update().get(pk=check.pk)
        now = timezone.now()
        check.last_ping, check.last_duration, check.status = now, None, "up"
        check.alert_after = now + check.timeout + check.grace
        check.n_pings += 1
        check.has_confirmation_link = b"confirm" in body.lower()
        check.save()
        Ping.objects.create(
            n=check.n_pings,
            owner=check,
            created=now,
            remote_addr=request.META["REMOTE_ADDR"],
            method=request.method or "",
            ua=request.headers.get("User-Agent", "")[:200],
            body_raw=body,
        )
    return HttpResponse("OK", headers={"Content-Length": "2"})


urlpatterns = [path("ping/<uuid:code>", ping)]
