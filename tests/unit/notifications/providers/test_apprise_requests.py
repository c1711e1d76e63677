"""Apprise's services only use the guarded client: their sources, and what the replacement of `requests` refuses."""

from __future__ import annotations

import ast
import socket
from pathlib import Path

import apprise
import pytest
import requests

from demo.receivers import HTTPReceiver
from notifications.providers import apprise_requests
from notifications.providers.apprise_requests import SERVICES

PLUGINS = Path(apprise.__file__).parent / "plugins"

# Modules that open no file or connection, and of which the services use nothing that does.
HARMLESS = {"base64", "binascii", "calendar", "collections", "contextlib", "copy", "cryptography", "dataclasses"}
HARMLESS |= {"datetime", "email", "enum", "functools", "gzip", "hashlib", "hmac", "html", "io", "itertools", "json"}
HARMLESS |= {"logging", "math", "operator", "os.path", "random", "re", "requests", "secrets", "string", "textwrap"}
HARMLESS |= {"__future__", "time", "types", "typing", "unicodedata", "urllib", "uuid", "xml.sax.saxutils", "zlib"}
OF_MODULES = {"io": {"BytesIO", "StringIO"}, "os": {"urandom"}, "requests": set(vars(apprise_requests._REPLACEMENT))}
# `open` and `AppriseAttachment` are replaced, as `requests` is.
DANGEROUS_CALLS = {"exec", "eval", "compile", "__import__", "urlopen", "sleep"}
ELSEWHERE = {"urllib.request", "requests.sessions", "requests.api", "http.client"}
# Of Apprise itself. Another plugin, for example as a base class, would bring its own `requests`.
HELPERS = {"..common", "..locale", ".base", "..utils.parse", "..exception", "..url", "..conversion", "..utils.sanitize"}
HELPERS |= {"..apprise_attachment", "..attachment.base", "..utils.base64", "..utils.templates"}
HELPERS |= {"..__version__", "..__title__"}


def what_a_module_uses(source: str) -> set[str]:
    """Return what a plugin's source uses besides the guarded client and harmless modules."""
    used: set[str] = set()
    modules: dict[str, str] = {}
    nodes = list(ast.walk(ast.parse(source)))
    for node in nodes:
        match node:
            case ast.Import(names):
                modules |= {alias.asname or alias.name: alias.name for alias in names}
                # Under another name, it would not be replaced.
                used |= {alias.name for alias in names if alias.name == "requests" and alias.asname}
                used |= {alias.name for alias in names if alias.name.split(".")[0] not in HARMLESS | {"os"}}
                used |= {alias.name for alias in names} & ELSEWHERE
            case ast.ImportFrom(str(module), names, 0):
                used |= {module} & ELSEWHERE
                used |= {module} if not {module, module.split(".")[0]} & HARMLESS else set()
                used |= {alias.name for alias in names if module == "requests"}
            case ast.ImportFrom(None, names, level):
                used |= {"." * level + alias.name for alias in names} - HELPERS
            case ast.ImportFrom(module, _, level):
                used |= {"." * level + str(module)} - HELPERS
            case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(_, "urlopen" | "sleep" as name)):
                used |= {name} & DANGEROUS_CALLS
    for node in nodes:
        match node:
            case ast.Attribute(ast.Name(name), attribute) if modules.get(name) in OF_MODULES:
                used |= {f"{modules[name]}.{attribute}"} if attribute not in OF_MODULES[modules[name]] else set()
    return used


def modules_that_use_more(modules: set[str]) -> set[str]:
    return {module for module in modules if what_a_module_uses((PLUGINS / f"{module}.py").read_text())}


def test_each_service_uses_only_the_guarded_client() -> None:
    assert modules_that_use_more(set(SERVICES.values())) == set()


def test_a_service_that_uses_something_else_is_found() -> None:
    others = {"mqtt", "syslog", "macosx", "bluesky", "telegram"}
    others |= {"guilded", "deltachat", "aprs", "twitter", "smpp"}
    assert modules_that_use_more(others) == others


def test_every_scheme_has_its_service_and_each_uses_the_replacement() -> None:
    assert len({apprise_requests.load(scheme) for scheme in SERVICES}) > 100
    for scheme in SERVICES:
        service = apprise_requests.load(scheme)
        assert scheme in apprise_requests.schemes_of(service)
        module = __import__(service.__module__, fromlist=["requests"])
        assert getattr(module, "requests", apprise_requests._REPLACEMENT) is apprise_requests._REPLACEMENT
        assert module.open is apprise_requests._refuse_file
        assert getattr(module, "AppriseAttachment", apprise_requests._NoAttachments) is apprise_requests._NoAttachments
        assert str(service.service_name)


def test_no_service_is_allowed_that_touches_this_machine() -> None:
    assert not set(SERVICES) & {"file", "dbus", "syslog", "rsyslog", "macosx", "windows", "gnome", "glib", "blink1"}
    assert not set(SERVICES) & {"mqtt", "mqtts", "growl", "smpp", "aprs", "mailto", "mailtos", "json", "xml", "form"}


def test_the_replacement_refuses_outside_guarded() -> None:
    with HTTPReceiver() as receiver:
        for verb in ("get", "post", "put", "delete"):
            with pytest.raises(requests.ConnectionError):
                getattr(apprise_requests._REPLACEMENT, verb)(receiver.url)
        assert receiver.requests == []


def test_a_probe_sends_nothing() -> None:
    with HTTPReceiver() as receiver, apprise_requests.guarded(1.0, probe_only=True) as calls:
        with pytest.raises(requests.ConnectionError):
            apprise_requests._REPLACEMENT.post(receiver.url, data="x")
        assert (receiver.requests, calls.refusal) == ([], "")


def test_requests_itself_is_not_changed() -> None:
    apprise_requests.load("gotify")
    with HTTPReceiver() as receiver:
        assert requests.get(receiver.url, timeout=5).ok


def test_a_request_arrives_as_the_service_made_it() -> None:
    with HTTPReceiver() as receiver, apprise_requests.guarded(5.0) as calls:
        answer = apprise_requests._REPLACEMENT.post(
            receiver.url, params={"a": "ä"}, data={"b": "1"}, headers={"X-C": "2"}, auth=("ada", "x"), verify=False
        )
        assert (answer.status_code, answer.text, answer.content) == (200, "ok", b"ok")
        [request] = receiver.requests
        assert (request.path, request.body) == ("/hooks/carillon?a=%C3%A4", b"b=1")
        assert (request.headers["X-C"], request.headers["Authorization"]) == ("2", "Basic YWRhOng=")
        assert [response.status for response in calls.responses] == [200]


def test_only_sockets_with_a_deadline_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    connected: list[str] = []
    real = socket.socket.connect

    def connect(self: socket.socket, address: tuple[str, int]) -> None:
        connected.append(type(self).__name__)
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    with HTTPReceiver() as receiver, apprise_requests.guarded(5.0):
        apprise_requests._REPLACEMENT.get(receiver.url)
    assert set(connected) == {"DeadlineSocket"}
