"""Typed readers of environment variables. A wrong value raises `Misconfigured`, whose message is one line.

No message contains a value of `url`, `encryption_keys`, `mail` or `proxy`: they hold passwords.
"""

import os
import re
import ssl
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.encoding import punycode


class Misconfigured(ImproperlyConfigured):
    """A variable is missing or wrong. The message names it, the problem and an example."""

    def __init__(self, name: str, problem: str, example: str) -> None:
        super().__init__(f"{name} {problem}, for example {name}={example}")


def text(name: str, default: str | None = None) -> str:
    """The variable, else the contents of the file that `<name>_FILE` names, else the default.

    An empty one counts as not set, as in `NAME=` of a Compose file. Raises Misconfigured if none of them is given.
    """
    value, path = (os.environ.get(one, "").strip() for one in (name, f"{name}_FILE"))
    if value and path:
        raise Misconfigured(name, f"is set twice, by {name} and by {name}_FILE; remove one", "…")
    if path:
        value = _contents(f"{name}_FILE", path, f"/run/secrets/{name}")
    if not value and default is None:
        raise Misconfigured(name, "is not set", "a long random text; `openssl rand -base64 48` makes one")
    return value or default or ""


def flag(name: str, default: bool) -> bool:
    value = text(name, "on" if default else "off").lower()
    if value not in {"1", "true", "yes", "on", "0", "false", "no", "off"}:
        raise Misconfigured(name, f"is “{value}”, but must be on or off", "on")
    return value in {"1", "true", "yes", "on"}


def integer(name: str, default: int, least: int = 0, most: int | None = None) -> int:
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        raise Misconfigured(name, f"is “{value}”, which is not a whole number", str(default)) from None
    if number < least or (most is not None and number > most):
        wanted = f"at least {least}" if most is None else f"from {least} to {most}"
        raise Misconfigured(name, f"is {number}, but must be {wanted}", str(default))
    return number


def choice(name: str, values: Sequence[str]) -> str:
    """One of `values`; the first is the default. Case does not count."""
    value = text(name, values[0])
    if matches := [one for one in values if one.lower() == value.lower()]:
        return matches[0]
    raise Misconfigured(name, f"is “{value}”, but must be one of {', '.join(values)}", values[0])


def listing(name: str, default: list[str]) -> list[str]:
    """Comma-separated values, without blanks and empty ones."""
    return _split_list(text(name, ",".join(default)))


def _parts(name: str, pattern: str, wanted: str, example: str, default: Sequence[str] = ()) -> list[re.Match[str]]:
    """Comma-separated values, each of which `pattern` matches whole; `wanted` says what such a value is."""
    given = listing(name, [*default])
    matches = [(part, re.fullmatch(pattern, part)) for part in given]
    if wrong := [part for part, match in matches if match is None]:
        raise Misconfigured(name, f"contains “{wrong[0]}”, which is not {wanted}", example)
    return [match for _, match in matches if match]


def hosts(name: str, default: list[str]) -> list[str]:
    """Comma-separated names of hosts."""
    return [part[0] for part in _parts(name, "[^/]+", "the name of a host", "carillon.example.org", default)]


def host(name: str) -> str:
    """The name of a host; empty: none."""
    if (value := text(name, "")) and re.fullmatch(r"[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63})*", value) is None:
        raise Misconfigured(name, f"is “{value}”, which is not the name of a host", "ping.example.org")
    return value


_LONGEST_SPREAD = 3_600
_MOST_WAITS, _LONGEST_WAIT = 50, 7 * 86_400


def retry_waits(prefix: str) -> dict[str, tuple[float, ...]]:
    """Seconds before each further try, by kind of provider: RETRY_WAITS_WEBHOOK=60,300,1800."""
    waits = {}
    for name in {one.removesuffix("_FILE") for one in os.environ if one.startswith(prefix)}:
        given = [float(part[0]) for part in _parts(name, r"\d+", "a number of seconds", "60,300,1800")]
        if len(given) > _MOST_WAITS or not all(1 <= wait <= _LONGEST_WAIT for wait in given):
            problem = f"must be at most {_MOST_WAITS} waits in seconds, each from 1 to {_LONGEST_WAIT}"
            raise Misconfigured(name, problem, "60,300,1800")
        if given:
            waits[name.removeprefix(prefix).lower()] = tuple(given)
    return waits


def sends_at_once(name: str, default: int) -> dict[str, int]:
    """A number for any host, under "", and other numbers for single hosts: `8,hooks.example.org=1`."""
    parts = _parts(name, r"(?:(.+)=)?(0*[1-9]\d*)", "a number from 1, nor a host with one", "8,hooks.example.org=1")
    return {"": default} | {(part[1] or "").lower(): int(part[2]) for part in parts}


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
    pattern = "([^=]+)=(?!(?:deliveries|events|bulk|maintenance)$)([a-z][a-z0-9_-]{0,40})"
    parts = _parts(name, pattern, "a kind of job with the name of a queue for jobs", "web_value=slow,feed=slow")
    return {part[1]: part[2] for part in parts}


def queues(of_jobs: Mapping[str, str]) -> list[str]:
    """The queues that workers must serve, with those of kinds of job."""
    return [*_USUAL_QUEUES, *sorted(set(of_jobs.values()) - set(_USUAL_QUEUES))]


def networks(name: str) -> list[str]:
    """Comma-separated networks in CIDR, none by default."""
    given = listing(name, [])
    for network in given:
        try:
            ip_network(network)
        except ValueError as error:
            problem = "has bits set beyond its prefix" if "host bits" in str(error) else "is not a network"
            raise Misconfigured(name, f"contains “{network}”, which {problem}", "10.0.0.0/8,fd00::/8") from None
    return given


def url(name: str, default: str = "") -> str:
    """A web address: http or https, with a host; empty: none."""
    if value := text(name, default):
        split_url(name, value, "https://carillon.example.org", "http", "https")
    return value


def origin(name: str, default: str) -> str:
    """A web address of a host alone, without a final slash: pages are served from its root."""
    return _origin(name, text(name, default), "because pages are served from its root")


def origins(name: str) -> list[str]:
    """Comma-separated web addresses of hosts alone, none by default."""
    return [_origin(name, one, "as browsers send it in Origin") for one in listing(name, [])]


def _origin(name: str, value: str, why: str) -> str:
    example = "https://carillon.example.org"
    address = value.rstrip("/").lower()
    parts = split_url(name, address, example, "http", "https")
    with suppress(UnicodeError):
        if punycode(parts.hostname or "") and parts.netloc == address.partition("://")[2] and "@" not in address:
            return address
    raise Misconfigured(name, f"must name a host without a path, {why}", example)


def mailbox(name: str) -> str:
    """An email address without a name; empty: none."""
    if (value := text(name, "")) and re.fullmatch(r"[!-;=?A-~]+@[A-Za-z0-9.-]+", value) is None:
        raise Misconfigured(name, f"is “{value}”, which is not an email address", "bounces@example.org")
    return value


def _contents(name: str, path: str, example: str) -> str:
    try:
        contents = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is not text"
        raise Misconfigured(name, f"names a file that cannot be read ({problem})", example) from None
    if not contents:
        raise Misconfigured(name, "names an empty file", example)
    return contents


_SHORTEST_KEY = 32


def signing_key(value: str, debug: bool) -> str:
    """A value of SECRET_KEY: long enough that nobody finds it by trying, except while `debug` is on."""
    if len(value) < _SHORTEST_KEY and not debug:
        problem = f"has {len(value)} characters, but needs at least {_SHORTEST_KEY}"
        raise Misconfigured("SECRET_KEY", problem, "a long random text; `openssl rand -base64 48` makes one")
    return value


def vapid_key(value: str) -> str:
    """A value of VAPID_PRIVATE_KEY: 32 bytes in base64url, or empty."""
    if value and not _is_key(value + "=" * (-len(value) % 4)):
        raise Misconfigured("VAPID_PRIVATE_KEY", "is not 32 bytes in base64url", f"{'A' * 42}E")
    return value


def encryption_keys(value: str) -> list[str]:
    """A value of ENCRYPTION_KEYS: at least one Fernet key, comma-separated."""
    keys = _split_list(value)
    for number, key in enumerate(keys or [""], 1):
        if not _is_key(key):
            problem = f"contains no key at position {number}; docs/configuration.md says how to make one"
            raise Misconfigured("ENCRYPTION_KEYS", problem, "new-key,old-key")
    return keys


def proxy(value: str) -> str:
    """A value of EGRESS_PROXY: empty, or http:// with a host and a port."""
    example = "http://user:password@proxy.internal:3128"
    if value and not split_url("EGRESS_PROXY", value, example, "http").port:
        raise Misconfigured("EGRESS_PROXY", "names no port", example)
    return value


def certificates(name: str) -> str:
    """The path of a file with certificates in PEM; empty: none."""
    if path := text(name, ""):
        try:
            ssl.create_default_context(cafile=path)
        except (OSError, ValueError):
            raise Misconfigured(name, "is not a file with certificates (PEM)", "/etc/carillon/home-ca.pem") from None
    return path


class MailServer(NamedTuple):
    """`starttls`: encrypted after STARTTLS. `tls`: encrypted from the first byte."""

    host: str
    port: int
    user: str
    password: str
    starttls: bool
    tls: bool


def mail(value: str) -> MailServer:
    """A value of EMAIL_URL: smtp:// (port 25), smtp+tls:// (STARTTLS, 587) or smtps:// (TLS, 465)."""
    example = "smtp+tls://user:password@mail.example.org:587"
    ports = {"smtp": 25, "smtp+tls": 587, "smtps": 465}
    parts = split_url("EMAIL_URL", value, example, *ports)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    port = parts.port or ports[parts.scheme]
    return MailServer(parts.hostname or "", port, user, password, parts.scheme == "smtp+tls", parts.scheme == "smtps")


class OpenIDProvider(NamedTuple):
    """`issuer`: its address, with a path where it has one. `name`: its host, as people know it."""

    issuer: str
    client: str
    secret: str
    name: str


def openid_provider(name: str) -> OpenIDProvider | None:
    """https://client:secret@issuer/path, both percent-encoded; None if it is not set."""
    if not (value := url(name)):
        return None
    parts, example = urlsplit(value), "https://client:secret@id.example.org/realm"
    host = parts.netloc.rpartition("@")[2]
    if not (parts.username and parts.password) or parts.query:
        raise Misconfigured(name, "does not name client, secret and issuer", example)
    if parts.scheme != "https" and not is_local(parts.hostname or ""):
        raise Misconfigured(name, "must start with https://", example)
    issuer = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
    return OpenIDProvider(issuer, unquote(parts.username), unquote(parts.password), parts.hostname or host)


def _is_key(text: str) -> bool:
    try:
        return len(urlsafe_b64decode(text)) == 32
    except ValueError:
        return False


def _split_list(value: str) -> list[str]:
    return [item for part in value.split(",") if (item := part.strip())]


def is_local(host: str) -> bool:
    """Whether this is the machine itself, by name, address or Unix socket."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in {"", "localhost"} or host.startswith(("/", "@"))


def split_url(name: str, value: str, example: str, *schemes: str, of_servers: bool = False) -> SplitResult:
    """`schemes`: it must have one of these, and a host. `of_servers`: its hosts may be several, and are not checked."""
    try:
        parts = urlsplit(value)
        _ = of_servers or parts.port  # raises ValueError only when it is read
    except ValueError:
        raise Misconfigured(name, "is not a valid URL (its host or port cannot be read)", example) from None
    if schemes and not (parts.scheme in schemes and parts.hostname):
        problem = f"does not start with {' or '.join(f'{scheme}://' for scheme in schemes)} and a host"
        raise Misconfigured(name, problem, example)
    return parts
