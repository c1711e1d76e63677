"""The web application. It answers from threads, so they share a pool of connections (see settings.DATABASES)."""

import os

from django.core.asgi import get_asgi_application

from config.requests import UTF8ASGIRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

from config import unavailable
from config.body_limit import BodyLimit

unavailable.wait_briefly()
django = get_asgi_application()
django.request_class = UTF8ASGIRequest
application = BodyLimit(django)
