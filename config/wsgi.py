"""The web application for WSGI servers; `asgi.py` is what `script/server` runs."""

import os

from django.core.wsgi import get_wsgi_application

from config.requests import UTF8WSGIRequest

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

application = get_wsgi_application()
application.request_class = UTF8WSGIRequest
