"""Private names of libraries: each is as it was read, and requirements.in has a bound for its library."""

from __future__ import annotations

import ast
import http.client
import inspect
import re
import smtplib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
import urllib3
from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.adapter import _build_apps_from_settings
from celery import beat
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache.backends.redis import RedisCache
from django.forms import BaseForm, BaseModelForm
from django.forms.models import _get_foreign_key
from django.http import HttpRequest
from django_celery_beat.admin import PeriodicTaskForm
from django_celery_beat.schedulers import ModelEntry
from feedparser.mixin import _FeedParserMixin
from kombu.transport import redis
from psycopg_pool import ConnectionPool
from urllib3.util.url import _encode_target
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from common.management.commands import migrate

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
    (migrate._stock, "self app_label model_name delay"),  # ProjectState._find_reload_model, which `migrate` replaces
    (BaseForm._clean_fields, "self"),
    (BaseModelForm._post_clean, "self"),
    (_get_foreign_key, "parent_model model fk_name can_fail"),
    (SessionStore._get_session_from_db, "self"),
    (DefaultAccountAdapter._get_login_attempts_cache_key, "self request credentials"),
    (TOTP._get_used_cache_key, "self code"),
    (_build_apps_from_settings, "provider client_id"),
    (_FeedParserMixin._start_title, "self attrs_d"),
    (_FeedParserMixin._end_title, "self"),
    (beat.Scheduler._ensure_connected, "self"),
    (beat.Scheduler._is_due_failed, "self entry"),
    (ModelEntry._default_now, "self"),
    (ModelEntry._unpack_options, "queue exchange routing_key priority headers expire_seconds kwargs"),
    (PeriodicTaskForm._clean_json, "self field"),
    (HttpRequest._set_content_type_params, "self meta"),
    (HttpToolsProtocol._should_upgrade, "self"),
    (HttpToolsProtocol._unsupported_upgrade_warning, "self"),
]
# What the product reads or sets of a library's object, and where the library does.
_ATTRIBUTES: list[tuple[Any, str]] = [
    (redis.Channel._brpop_start, "_queue_cycle"),
    (redis.Channel.close, "_closing"),
    (RedisCache.get, "_cache"),
    (HttpRequest.body.fget, "_body"),
    (ConnectionPool.__init__, "_check"),
    (ThreadPoolExecutor.__init__, "_shutdown_lock"),
]
_DOCUMENTED = {
    *("_meta", "_state", "_db", "_default_manager", "_base_manager"),  # Django
    *("_replace", "_asdict", "_fields", "_exit", "_value_"),  # Python
}
_OF_THE_PRODUCT = {"_zone", "_read"}  # `super()._zone()` is of another form
_PRIVATE = re.compile("_[a-zA-Z]")


@pytest.mark.parametrize(("called", "parameters"), _READ, ids=lambda value: getattr(value, "__qualname__", ""))
def test_a_private_name_takes_what_it_took_when_it_was_read(called: Callable[..., object], parameters: str) -> None:
    assert " ".join(inspect.signature(called).parameters) == parameters


@pytest.mark.parametrize(("function", "name"), _ATTRIBUTES, ids=lambda value: getattr(value, "__qualname__", value))
def test_a_private_attribute_is_used_where_it_was_read(function: Any, name: str) -> None:
    assert name in function.__code__.co_names


def test_no_other_private_name_is_imported_read_or_overridden() -> None:
    trees = {path: ast.parse(path.read_text()) for path in _CHECKOUT.glob("[a-z]*/**/*.py") if _is_product(path)}
    defined = {path: set(_defined(tree)) for path, tree in trees.items()}
    own = set().union(*defined.values())
    used = set().union(*(_used(tree, defined[path], own) for path, tree in trees.items()))
    read = {called.__name__ for called, _ in _READ} | {name for _, name in _ATTRIBUTES} | {"_FeedParserMixin"}
    assert {"_brpop_read", "_queue_cycle", "_should_upgrade", "_encode_target"} <= used
    assert used <= read | _DOCUMENTED | _OF_THE_PRODUCT


def _is_product(path: Path) -> bool:
    inner = path.relative_to(_CHECKOUT).parts
    return inner[0] not in ("tests", "bench", "demo", "client", "var") and "migrations" not in inner


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    """What the body of a class defines."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            yield one.name
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))


def _defined(tree: ast.Module) -> Iterator[str]:
    """The attributes that its classes have."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from _of_class(node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _used(tree: ast.Module, here: set[str], own: set[str]) -> Iterator[str]:
    """Private names that it imports, those of classes of libraries that it overrides, and attributes of objects.

    An attribute is the product's own if a class of this module has it; of `self`, if any class of the product has.
    """
    imports = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (alias.name for alias in node.names if _PRIVATE.match(alias.name))
            imports |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.ClassDef):
            bases = [found for base in node.bases if (found := _of_library(base, imports)) is not None]
            yield from (
                name for name in _of_class(node) if _PRIVATE.match(name) and any(hasattr(one, name) for one in bases)
            )
        elif isinstance(node, ast.Attribute) and _PRIVATE.match(node.attr):
            is_super = ast.unparse(node.value) == "super()"
            if is_super or node.attr not in (own if _is_self(node.value) else here):
                yield node.attr


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def _of_library(base: ast.expr, imports: dict[str, tuple[str, str]]) -> Any:
    """The class, None for one of the product."""
    name, _, path = ast.unparse(base.value if isinstance(base, ast.Subscript) else base).partition(".")
    module, attribute = imports.get(name, ("", ""))
    if not module or (_CHECKOUT / module.partition(".")[0]).is_dir():
        return None
    try:
        found = getattr(import_module(module), attribute, None) or import_module(f"{module}.{attribute}")
    except ImportError:
        return None
    return attrgetter(path)(found) if path else found


@pytest.mark.parametrize(
    "package",
    [
        *("Django", "celery", "django-celery-beat", "kombu", "urllib3", "uvicorn"),
        *("django-allauth", "feedparser", "psycopg-pool"),
    ],
)
def test_its_library_stays_below_the_next_release(package: str) -> None:
    text = (_CHECKOUT / "requirements.in").read_text()
    assert re.search(rf"^{package}(\[[a-z,]+\])?(>=[\d.]+,)?<\d", text, re.MULTILINE)
