"""Private names of libraries: each is as it was read, and requirements.in has a bound for its library."""

from __future__ import annotations

import ast
import http.client
import inspect
import re
import smtplib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3
from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.adapter import _build_apps_from_settings
from django.contrib.sessions.backends.db import SessionStore
from django.forms import BaseForm, BaseModelForm
from django.forms.models import _get_foreign_key
from feedparser.mixin import _FeedParserMixin
from kombu.transport import redis
from urllib3.util.url import _encode_target

_CHECKOUT = Path(__file__).parents[3]
# What the product calls or overrides, and the parameters that it had when it was read.
_READ: list[tuple[Any, str]] = [
    (redis.Channel._brpop_start, "self timeout"),
    (redis.Channel._brpop_read, "self options"),
    (redis.Channel._do_restore_message, "self payload exchange routing_key pipe leftmost"),
    (redis.Channel._q_for_pri, "self queue pri"),
    (redis.Channel._restore, "self message leftmost"),
    (redis.Channel._restore_at_beginning, "self message"),
    (redis.Transport._deliver, "self message queue"),
    (urllib3.HTTPConnectionPool._get_conn, "self timeout"),
    (urllib3.HTTPConnectionPool._put_conn, "self conn"),
    (urllib3.connection.HTTPConnection._new_conn, "self"),
    (_encode_target, "target"),
    (http.client.HTTPResponse._read_next_chunk_size, "self"),
    (smtplib.SMTP._get_socket, "self host port timeout"),
    (BaseForm._clean_fields, "self"),
    (BaseModelForm._post_clean, "self"),
    (_get_foreign_key, "parent_model model fk_name can_fail"),
    (SessionStore._get_session_from_db, "self"),
    (DefaultAccountAdapter._get_login_attempts_cache_key, "self request credentials"),
    (TOTP._get_used_cache_key, "self code"),
    (_build_apps_from_settings, "provider client_id"),
    (_FeedParserMixin._start_title, "self attrs_d"),
    (_FeedParserMixin._end_title, "self"),
]
_OF_THE_PRODUCT = {"_zone", "_read"}  # `super()._zone()` is of another form


@pytest.mark.parametrize(("called", "parameters"), _READ, ids=lambda value: getattr(value, "__qualname__", ""))
def test_a_private_name_takes_what_it_took_when_it_was_read(called: Callable[..., object], parameters: str) -> None:
    assert " ".join(inspect.signature(called).parameters) == parameters


def test_no_other_private_name_is_imported_or_overridden() -> None:
    used = set()
    for path in _CHECKOUT.glob("[a-z]*/**/*.py"):
        if (
            path.parts[len(_CHECKOUT.parts)] in ("tests", "bench", "demo", "client", "var")
            or "migrations" in path.parts
        ):
            continue
        text = path.read_text()
        used.update(re.findall(r"super\(\)\.(_[a-z]\w*)\(", text))
        imports = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
        used.update(alias.name for node in imports for alias in node.names if re.match("_[a-zA-Z]", alias.name))
    read = {called.__name__ for called, _ in _READ} | {"_FeedParserMixin"} | _OF_THE_PRODUCT
    assert "_brpop_read" in used
    assert used <= read


@pytest.mark.parametrize(
    "package", ["Django", "celery", "kombu", "urllib3", "django-allauth", "feedparser", "psycopg-pool"]
)
def test_its_library_stays_below_the_next_release(package: str) -> None:
    text = (_CHECKOUT / "requirements.in").read_text()
    assert re.search(rf"^{package}(\[[a-z,]+\])?(>=[\d.]+,)?<\d", text, re.MULTILINE)
