"""The web application. Its threads share a pool of database connections."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("DATABASE_POOL", "1")

from config import unavailable
from config.body_limit import BodyLimit
from config.middleware import UTF8Request

unavailable.wait_briefly()
django = get_asgi_application()
django.request_class = UTF8Request
application = BodyLimit(django)
