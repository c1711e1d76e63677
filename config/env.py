"""Typed readers of environment variables. A wrong value raises `Misconfigured`, whose message is one line.

No message contains a value of `secret`, `encryption_keys`, `database`, `mail`, `redis` or `proxy`: they hold passwords.
"""

from __future__ import annotations

import os
import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


class Misconfigured(ImproperlyConfigured):
    """A variable is missing or wrong. The message names it, the problem and an example."""

    def __init__(self, name: str, problem: str, example: str) -> None:
        super().__init__(f"{name} {problem}, for example {name}={example}")


def text(name: str, default: str) -> str:
    """The variable; an empty one counts as not set, as in `NAME=` of a Compose file."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool) -> bool:
    value = text(name, "on" if default else "off").lower()
    if value not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise Misconfigured(name, f"is “{value}”, but must be on or off", "on")
    return value in {"1", "true", "yes", "on"}


def integer(name: str, default: int) -> int:
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(name, f"is “{value}”, which is not a whole number", str(default)) from None


_MOST_DAYS = 3_650


def days(name: str, default: int) -> int:
    found = integer(name, default)
    if not 1 <= found <= _MOST_DAYS:
        raise Misconfigured(name, f"is {found}, but must be from 1 to {_MOST_DAYS}", str(default))
    return found


def listing(name: str, default: list[str]) -> list[str]:
    """Comma-separated values, without blanks and empty ones."""
    return _split_list(text(name, ",".join(default)))


_LONGEST_SPREAD = 3_600
_MOST_WAITS, _LONGEST_WAIT = 50, 7 * 86_400


def retry_waits(prefix: str) -> dict[str, tuple[float, ...]]:
    """Seconds before each further try, by kind of provider: RETRY_WAITS_WEBHOOK=60,300,1800."""
    found = {}
    for name in os.environ:
        if not name.startswith(prefix) or not (parts := listing(name, [])):
            continue
        if not all(part.isdecimal() and 1 <= int(part) <= _LONGEST_WAIT for part in parts) or len(parts) > _MOST_WAITS:
            problem = f"must be at most {_MOST_WAITS} waits in seconds, each from 1 to {_LONGEST_WAIT}"
            raise Misconfigured(name, problem, "60,300,1800")
        found[name.removeprefix(prefix).lower()] = tuple(map(float, parts))
    return found


def sends_at_once(name: str, default: int) -> dict[str, int]:
    """A number for any host, under "", and other numbers for single hosts: `8,hooks.example.org=1`."""
    found = {"": default}
    for part in listing(name, []):
        host, _, amount = part.rpartition("=")
        if not amount.isdecimal() or int(amount) < 1 or ("=" in part and not host):
            problem = f"contains “{part}”, which is neither a number from 1 nor a host with one"
            raise Misconfigured(name, problem, "8,hooks.example.org=1")
        found[host.lower()] = int(amount)
    return found


def spread(name: str) -> tuple[int, int]:
    """The least and the most seconds by which reminders without a spread of their own are put off: `30-50`."""
    value = text(name, "0-0")
    least, _, most = value.partition("-")
    if not (least.isdecimal() and most.isdecimal() and int(least) <= int(most) <= _LONGEST_SPREAD):
        problem = f"is “{value}”, but must be two numbers of seconds up to {_LONGEST_SPREAD}, the smaller one first"
        raise Misconfigured(name, problem, "30-50")
    return int(least), int(most)


_USUAL_QUEUES = ["deliveries", "events", "jobs", "bulk", "maintenance"]


def job_queues(name: str) -> dict[str, str]:
    """The queues of kinds of job that have workers of their own: `web_value=slow,feed=slow`."""
    found = {}
    for part in listing(name, []):
        kind, _, queue = part.partition("=")
        if not kind or queue in {*_USUAL_QUEUES} - {"jobs"} or re.fullmatch("[a-z][a-z0-9_-]{0,40}", queue) is None:
            problem = f"contains “{part}”, which is not a kind of job with the name of a queue for jobs"
            raise Misconfigured(name, problem, "web_value=slow,feed=slow")
        found[kind] = queue
    return found


def queues(of_jobs: Mapping[str, str]) -> list[str]:
    """The queues that workers must serve, with those of kinds of job."""
    return [*_USUAL_QUEUES, *sorted(set(of_jobs.values()) - set(_USUAL_QUEUES))]


def networks(name: str) -> list[str]:
    """Comma-separated networks in CIDR, none by default."""
    found = listing(name, [])
    for network in found:
        try:
            ip_network(network)
        except ValueError as error:
            problem = "has bits set beyond its prefix" if "host bits" in str(error) else "is not a network"
            raise Misconfigured(name, f"contains “{network}”, which {problem}", "10.0.0.0/8,fd00::/8") from None
    return found


def url(name: str, default: str) -> str:
    """A web address: http or https, with a host."""
    value, example = text(name, default), "https://carillon.example.org"
    parts = _split_url(name, value, example)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Misconfigured(name, "is not a web address that starts with http:// or https://", example)
    return value


def secret(name: str, default: str | None = None) -> str:
    """The variable, else the contents of the file named by `<name>_FILE`, else the default.

    Raises Misconfigured if none of them is given.
    """
    value, path = text(name, ""), text(f"{name}_FILE", "")
    example = f"/run/secrets/{name}"
    if value and path:
        raise Misconfigured(name, f"is set twice, by {name} and by {name}_FILE; remove one", "…")
    if path:
        try:
            value = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = error.strerror if isinstance(error, OSError) else "it is not text"
            raise Misconfigured(f"{name}_FILE", f"names a file that cannot be read ({problem})", example) from None
        if not value:
            raise Misconfigured(f"{name}_FILE", "names an empty file", example)
    if not value and default is None:
        raise Misconfigured(name, "is not set", "a long random text; `openssl rand -base64 48` makes one")
    return value or default or ""


def vapid_key(value: str) -> str:
    """A value of VAPID_PRIVATE_KEY: 32 bytes in base64url, or empty."""
    if value and not _is_key(value + "=" * (-len(value) % 4)):
        raise Misconfigured("VAPID_PRIVATE_KEY", "is not 32 bytes in base64url", f"{'A' * 42}E")
    return value


def encryption_keys(value: str) -> list[str]:
    """A value of ENCRYPTION_KEYS: at least one Fernet key, comma-separated."""
    found = _split_list(value)
    for number, key in enumerate(found, 1):
        if not _is_key(key):
            problem = f"contains no key at position {number}; docs/configuration.md says how to make one"
            raise Misconfigured("ENCRYPTION_KEYS", problem, "new-key,old-key")
    if not found:
        raise Misconfigured("ENCRYPTION_KEYS", "contains no key", "new-key,old-key")
    return found


# We stop waiting for a silent database after seconds; TCP alone takes a quarter of an hour. The server ends a
# transaction that is idle for a minute, since its locks block others; by default it keeps them for two hours.
DATABASE_TIMEOUTS = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "options": "-c idle_in_transaction_session_timeout=60s -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10"
    " -c tcp_keepalives_count=3",
}


def database(value: str) -> dict[str, Any]:
    """A value of DATABASE_URL as an entry of Django's DATABASES.

    `?host=/dir` names the directory of a Unix socket. Other options go to libpq and override `DATABASE_TIMEOUTS`.
    """
    example = "postgresql://carillon:password@127.0.0.1:5432/carillon"
    parts = _split_url("DATABASE_URL", value, example)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise Misconfigured("DATABASE_URL", "does not start with postgresql:// (Carillon needs PostgreSQL)", example)
    if not (name := unquote(parts.path[1:])) or "/" in name:
        raise Misconfigured("DATABASE_URL", "does not end with the name of a database", example)
    options = DATABASE_TIMEOUTS | dict(parse_qsl(parts.query, keep_blank_values=True))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or unquote(parts.hostname or ""),
        "PORT": options.pop("port", "") or str(parts.port or ""),
        "OPTIONS": options,
    }


def proxy(value: str) -> str:
    """A value of EGRESS_PROXY: empty, or http:// with a host and a port."""
    example = "http://user:password@proxy.internal:3128"
    if value:
        parts = _split_url("EGRESS_PROXY", value, example)
        if parts.scheme != "http" or not parts.hostname or not parts.port:
            raise Misconfigured("EGRESS_PROXY", "is not an address that starts with http:// and names a port", example)
    return value


@dataclass(frozen=True)
class MailServer:
    """`tls`: encrypted from the first byte. `starttls`: encrypted after STARTTLS."""

    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool


def mail(value: str) -> MailServer:
    """A value of EMAIL_URL: smtp:// (port 25), smtp+tls:// (STARTTLS, 587) or smtps:// (TLS, 465)."""
    example = "smtp+tls://user:password@mail.example.org:587"
    parts = _split_url("EMAIL_URL", value, example)
    ports = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
    if parts.scheme not in ports:
        raise Misconfigured("EMAIL_URL", "does not start with smtp://, smtp+tls:// or smtps://", example)
    if not parts.hostname:
        raise Misconfigured("EMAIL_URL", "names no mail server", example)
    return MailServer(
        host=parts.hostname,
        port=parts.port or ports[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        starttls=parts.scheme == "smtp+tls",
        tls=parts.scheme == "smtps",
    )


def redis(value: str) -> str:
    """A value of REDIS_URL: redis:// or rediss:// with a host, or unix:///path?db=0; with the number of a database."""
    example = "redis://:password@127.0.0.1:6379/0"
    parts = _split_url("REDIS_URL", value, example)
    if parts.scheme == "unix" and parts.path and not parts.hostname:
        number = dict(parse_qsl(parts.query, keep_blank_values=True)).get("db", "0")
    elif parts.scheme in {"redis", "rediss"} and parts.hostname:
        number = parts.path.strip("/") or "0"
    else:
        raise Misconfigured("REDIS_URL", "does not start with redis:// or rediss:// and a host", example)
    if not number.isdecimal():
        raise Misconfigured("REDIS_URL", "does not end with the number of a database", example)
    return value


def broker(redis_url: str) -> str:
    """REDIS_URL in Celery's spelling, which has its own scheme for Unix sockets."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")


def _is_key(text: str) -> bool:
    """Whether these are 32 bytes in base64url."""
    try:
        return len(urlsafe_b64decode(text)) == 32
    except ValueError:
        return False


def _split_list(value: str) -> list[str]:
    return [item for part in value.split(",") if (item := part.strip())]


def _split_url(name: str, value: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises ValueError only when it is read
    except ValueError:
        raise Misconfigured(name, "is not a valid URL (its host or port cannot be read)", example) from None
    return parts
