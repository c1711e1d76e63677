"""Typed readers of the environment. A wrong value ends in one line: its name, what is wrong, an example.

No message ever holds a value of `secret`, `encryption_keys`, `database` or `mail`, since those carry passwords.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


class Misconfigured(ImproperlyConfigured):
    """A variable of the environment is missing or wrong; the message is one line with an example."""

    def __init__(self, name: str, wrong: str, example: str) -> None:
        super().__init__(f"{name} {wrong}, for example {name}={example}")


def text(name: str, default: str) -> str:
    """The variable as it stands; an empty one counts as not given, as in a Compose file's `NAME=`."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool) -> bool:
    value = text(name, "on" if default else "off").lower()
    if value not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise Misconfigured(name, f"is “{value}”, which is neither yes nor no; write on or off", "on")
    return value in {"1", "true", "yes", "on"}


def integer(name: str, default: int) -> int:
    value = text(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise Misconfigured(name, f"is “{value}”, which is no whole number", str(default)) from None


def listing(name: str, default: list[str]) -> list[str]:
    """Comma-separated values, without blanks around them and without empty ones."""
    return [item for part in text(name, ",".join(default)).split(",") if (item := part.strip())]


def networks(name: str) -> list[str]:
    """Comma-separated networks in CIDR, none by default."""
    found = listing(name, [])
    for network in found:
        try:
            ip_network(network)
        except ValueError as error:
            why = "has bits set beyond its prefix" if "host bits" in str(error) else "is no network"
            raise Misconfigured(name, f"holds “{network}”, which {why}", "10.0.0.0/8,fd00::/8") from None
    return found


def url(name: str, default: str) -> str:
    """A web address: http or https, with a host."""
    value = text(name, default)
    example = "https://carillon.example.org"
    parts = _split(name, value, example)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Misconfigured(name, "is not a web address that starts with http:// or https://", example)
    return value


def secret(name: str, default: str | None = None) -> str:
    """The variable, else the contents of the file that `<name>_FILE` names (a mounted secret).

    Raises Misconfigured where neither is given and there is no default.
    """
    value, path = text(name, ""), text(f"{name}_FILE", "")
    if value and path:
        raise Misconfigured(name, f"is given twice, by {name} and by {name}_FILE; keep one", "…")
    if path:
        try:
            value = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise Misconfigured(
                f"{name}_FILE", f"names a file that cannot be read ({why})", f"/run/secrets/{name}"
            ) from None
        if not value:
            raise Misconfigured(f"{name}_FILE", "names an empty file", f"/run/secrets/{name}")
    if value or default is not None:
        return value or default or ""
    raise Misconfigured(name, "is not set", "a long random text; `openssl rand -base64 48` makes one")


def encryption_keys(value: str) -> list[str]:
    """A value of ENCRYPTION_KEYS, checked: at least one key of Fernet's, comma-separated."""
    found = [key for part in value.split(",") if (key := part.strip())]
    for number, key in enumerate(found, 1):
        try:
            right = len(urlsafe_b64decode(key)) == 32
        except ValueError:
            right = False
        if not right:
            raise Misconfigured(
                "ENCRYPTION_KEYS",
                f"holds something at place {number} that is no key; docs/configuration.md says how one is made",
                "new-key,old-key",
            )
    if not found:
        raise Misconfigured("ENCRYPTION_KEYS", "holds no key", "new-key,old-key")
    return found


# A database that is gone without a word (power, network, failover) is given up after seconds, not after the quarter of
# an hour that TCP takes by itself; and what died in the middle of a transaction keeps its rows locked for a minute, not
# for the two hours after which the server would ask.
NOT_FOR_EVER = {
    "connect_timeout": "5",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "options": "-c idle_in_transaction_session_timeout=60s -c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10"
    " -c tcp_keepalives_count=3",
}


def database(value: str) -> dict[str, Any]:
    """A value of DATABASE_URL as an entry of Django's DATABASES.

    `postgresql://user:password@host:port/name?option=…`, percent-encoded where need be; `?host=/dir` names
    the directory of a Unix socket. Other options go to libpq as they are (sslmode, connect_timeout, …); an `options`
    among them, even an empty one, replaces ours.
    """
    example = "postgresql://carillon:password@127.0.0.1:5432/carillon"
    parts = _split("DATABASE_URL", value, example)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise Misconfigured("DATABASE_URL", "does not start with postgresql:// (Carillon needs PostgreSQL)", example)
    if not (name := unquote(parts.path[1:])) or "/" in name:
        raise Misconfigured("DATABASE_URL", "does not end in the name of a database", example)
    options = NOT_FOR_EVER | dict(parse_qsl(parts.query, keep_blank_values=True))
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
    """A value of EGRESS_PROXY, checked: http:// with a host and a port, and a password where it asks for one."""
    example = "http://user:password@proxy.internal:3128"
    if value:
        parts = _split("EGRESS_PROXY", value, example)
        if parts.scheme != "http" or not parts.hostname or not parts.port:
            raise Misconfigured("EGRESS_PROXY", "is not an address that starts with http:// and names a port", example)
    return value


@dataclass(frozen=True)
class MailServer:
    """Where mail goes. `tls`: encrypted from the first byte; `starttls`: after a greeting in the clear."""

    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool


def mail(value: str) -> MailServer:
    """A value of EMAIL_URL: smtp:// (port 25), smtp+tls:// (STARTTLS, 587) or smtps:// (TLS, 465)."""
    example = "smtp+tls://user:password@mail.example.org:587"
    parts = _split("EMAIL_URL", value, example)
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
    """A value of REDIS_URL, checked: redis:// or rediss:// (TLS), a host, the number of a database.

    `unix:///path/to/redis.sock?db=0` names a Unix socket.
    """
    example = "redis://:password@127.0.0.1:6379/0"
    parts = _split("REDIS_URL", value, example)
    if parts.scheme == "unix" and parts.path and not parts.hostname:
        number = dict(parse_qsl(parts.query, keep_blank_values=True)).get("db", "0")
    elif parts.scheme in {"redis", "rediss"} and parts.hostname:
        number = parts.path.strip("/") or "0"
    else:
        raise Misconfigured("REDIS_URL", "does not start with redis:// or rediss:// and a host", example)
    if not number.isdecimal():
        raise Misconfigured("REDIS_URL", "does not end in the number of a database", example)
    return value


def broker(redis_url: str) -> str:
    """A checked REDIS_URL as Celery writes it: it has a scheme of its own for Unix sockets."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")


def _split(name: str, value: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(value)
        _ = parts.port  # parsed only when asked for
    except ValueError:
        raise Misconfigured(name, "is not a valid URL (a host or port in it cannot be read)", example) from None
    return parts
