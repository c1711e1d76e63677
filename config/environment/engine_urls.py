"""Readers of DATABASE_URL, REDIS_URL, BROKER_URL. A wrong value raises `Misconfigured`, whose message has no password.

An option that is unknown, or that one of the libraries would read differently, is refused.
"""

import os
import re
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlencode

import certifi
from psycopg import ProgrammingError, pq
from psycopg.conninfo import conninfo_to_dict

from config.environment.env import Misconfigured, is_local, split_url

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


# Options of libpq that are part of the URL itself, or would break Django or show what is encrypted.
_NOT_FOR_US = {"user", "password", "dbname", "service", "client_encoding", "replication", "sslkeylogfile"}


_DATABASE = "postgresql://carillon:password@127.0.0.1:5432/carillon"


def database(value: str, name: str = "DATABASE_URL") -> dict[str, Any]:
    """The value of the variable `name` as an entry of Django's DATABASES.

    `?host=/dir` names the directory of a Unix socket. Of several hosts (`db1:5432,db2:5432`) that is used which takes
    writes, or for the replica a standby. Other options go to libpq and override `DATABASE_TIMEOUTS`, and `sslmode`: the
    certificate of a server on another host is verified by default.
    """
    parts = split_url(name, value, _DATABASE, of_servers=True)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise Misconfigured(name, "does not start with postgresql:// (Carillon needs PostgreSQL)", _DATABASE)
    accepted = {option.keyword.decode() for option in pq.Conninfo.get_defaults()} - _NOT_FOR_US
    if unknown := sorted(_options(name, parts, _DATABASE).keys() - accepted):
        problem = f"has the option {unknown[0]}, which is not one of libpq's for a connection"
        raise Misconfigured(name, problem, f"{_DATABASE}?application_name=carillon")
    try:
        options: dict[str, Any] = conninfo_to_dict(value)
    except ProgrammingError:
        raise Misconfigured(name, "is not a URL that libpq can read", _DATABASE) from None
    host, port = options.pop("host", ""), options.pop("port", "")
    if not re.fullmatch("[^/]+", path := options.pop("dbname", "")):
        raise Misconfigured(name, "does not end with the name of a database", _DATABASE)
    if re.fullmatch(r"[\d,]*", port) is None:
        raise Misconfigured(name, "has a port that is not a number", _DATABASE)
    session = "read-write" if name == "DATABASE_URL" else "prefer-standby"
    chosen = {"target_session_attrs": session} if "," in host else {}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": path,
        "USER": options.pop("user", ""),
        "PASSWORD": options.pop("password", ""),
        "HOST": host,
        "PORT": port if port.strip(",") else "",
        "OPTIONS": DATABASE_TIMEOUTS | chosen | _encryption(host, options) | options,
    }


def use_connections(entry: dict[str, Any], role: str, pool: bool, is_replica: bool) -> None:
    """Have the process called `role` share the connections of an entry of DATABASES, or keep one for each thread."""
    if "PGAPPNAME" not in os.environ:
        entry["OPTIONS"].setdefault("application_name", role)  # in pg_stat_activity
    # Behind a pooler, a cursor of the server outlives its session.
    entry |= {"CONN_HEALTH_CHECKS": True, "DISABLE_SERVER_SIDE_CURSORS": True}
    if pool:
        # timeout: in a burst, hundreds of threads record results at once. reconnect_timeout: after an outage the pool
        # waits longer between its attempts; after 5 s it gives up, and the next request reconnects. max_idle: a session
        # of PostgreSQL has 6 MiB; a pool closes one of its unused sessions each time.
        of_replica = {"max_size": 4, "timeout": 2} if is_replica else {}
        every = {"min_size": 0, "max_size": 16, "max_idle": 10, "timeout": 30, "reconnect_timeout": 5}
        entry["OPTIONS"]["pool"] = every | of_replica
    else:
        entry["CONN_MAX_AGE"] = None


def _encryption(host: str, given: dict[str, str]) -> dict[str, str]:
    """The default options by which libpq checks the certificate of a server on another host."""
    if all(map(is_local, host.split(","))) or "sslmode" in given or "PGSSLMODE" in os.environ:
        return {}
    own = Path("~/.postgresql/root.crt").expanduser()
    if "sslrootcert" in given or "PGSSLROOTCERT" in os.environ or own.exists():
        return {"sslmode": "verify-full"}
    return {"sslmode": "verify-full", "sslrootcert": ssl.get_default_verify_paths().cafile or certifi.where()}


_CHECKS = {"required": "required", "CERT_REQUIRED": "required", "none": "none", "CERT_NONE": "none"}
_TLS_FILES = {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}


def redis(value: str) -> str:
    """A value of REDIS_URL, written so that kombu and redis-py read the same: it ends with the number of a database.

    redis:// or rediss:// with a host, or unix:///path?db=0. A certificate is verified, unless `ssl_cert_reqs=none`.
    With `?sentinels=host:port,…` the host is the name by which these know the primary.
    """
    example = "redis://:password@127.0.0.1:6379/0"
    parts = split_url("REDIS_URL", value, example)
    given = _options("REDIS_URL", parts, example)
    if "sentinel" in parts.scheme:
        problem = "names Sentinels as its host: they are an option, and the host is their name of the primary"
        raise Misconfigured("REDIS_URL", problem, _SENTINELS)
    if parts.scheme == "unix" and parts.path and not parts.hostname:
        number, example = given.pop("db", "0"), "unix://:password@/run/redis.sock?db=0"
        url = f"unix://{parts.netloc}{parts.path}?db={number}"
    elif parts.hostname and (take := _OPTIONS_OF.get(parts.scheme)):
        number = parts.path.strip("/") or "0"
        url = parts._replace(path=f"/{number}", query=urlencode(take(given), safe="/:,")).geturl()
    else:
        raise Misconfigured("REDIS_URL", "does not start with redis:// or rediss:// and a host", example)
    if not number.isdecimal():
        raise Misconfigured("REDIS_URL", "does not end with the number of a database", example)
    if given.keys() & {"db", "password"}:
        problem = "has the number of the database or the password as an option, but they stand before the “?”"
        raise Misconfigured("REDIS_URL", problem, example)
    _refuse_options("REDIS_URL", given, example)
    return url


_SENTINELS = "redis://:password@mymaster/0?sentinels=10.0.0.1:26379,10.0.0.2:26379"


def _sentinels(given: dict[str, str]) -> dict[str, str]:
    """Take the Sentinels out of `given`."""
    if (hosts := given.pop("sentinels", None)) is None:
        return {}
    if not all(re.fullmatch(r"[\w.-]+:\d{1,5}", host) for host in hosts.split(",")):
        raise Misconfigured("REDIS_URL", "has sentinels that are not each a host, “:” and a port", _SENTINELS)
    return {"sentinels": hosts}


_REDISS = "rediss://:password@redis.internal:6379/0?ssl_ca_certs=/etc/ssl/redis.pem"


def _tls(given: dict[str, str], variable: str, example: str) -> dict[str, str]:
    """Take the options of TLS out of `given`, in a spelling that kombu and redis-py share."""
    tls = {"ssl_cert_reqs": _CHECKS.get(given.pop("ssl_cert_reqs", "required"), "")}
    if not tls["ssl_cert_reqs"]:
        raise Misconfigured(variable, "has an ssl_cert_reqs that is neither required nor none", example)
    for name in sorted(_TLS_FILES & given.keys()):
        tls[name] = given.pop(name)
        if not os.access(tls[name], os.R_OK):
            raise Misconfigured(variable, f"names a file as {name} that cannot be read", example)
    if (checked := given.pop("ssl_check_hostname", None)) is not None:
        if checked.lower() not in {"true", "false"}:
            raise Misconfigured(variable, "has an ssl_check_hostname that is neither true nor false", example)
        tls["ssl_check_hostname"] = checked.lower()
    return tls


_RABBITMQ = "amqps://carillon:password@rabbitmq.internal:5671/carillon"


def rabbitmq(value: str) -> tuple[str, dict[str, Any]]:
    """A value of BROKER_URL without its options, and how py-amqp secures the connection: nothing for amqp://.

    A certificate is verified, unless `ssl_cert_reqs=none`.
    """
    parts = split_url("BROKER_URL", value, _RABBITMQ, "amqp", "amqps")
    given = _options("BROKER_URL", parts, _RABBITMQ)
    tls = _tls(given, "BROKER_URL", _RABBITMQ) if parts.scheme == "amqps" else {}
    _refuse_options("BROKER_URL", given, _RABBITMQ)
    return parts._replace(query="").geturl(), _for_amqp(tls, parts.hostname or "") if tls else {}


_OPTIONS_OF: dict[str, Callable[[dict[str, str]], dict[str, str]]] = {
    "redis": _sentinels,
    "rediss": partial(_tls, variable="REDIS_URL", example=_REDISS),
}


def _refuse_options(name: str, given: Mapping[str, str], example: str) -> None:
    if given:
        raise Misconfigured(name, f"has the option {min(given)}, which is not supported here", example)


def _for_amqp(tls: Mapping[str, Any], host: str) -> dict[str, Any]:
    """The options of `_tls` as py-amqp takes them."""
    secured = {name.removeprefix("ssl_"): option for name, option in tls.items()}
    checks_host = secured.pop("check_hostname", "true") == "true"
    secured["cert_reqs"] = ssl.CERT_REQUIRED if secured["cert_reqs"] == "required" else ssl.CERT_NONE
    if secured["cert_reqs"]:
        secured.setdefault("ca_certs", ssl.get_default_verify_paths().cafile or certifi.where())
        secured["server_hostname"] = host if checks_host else None
    return secured


def broker(redis_url: str) -> str:
    """REDIS_URL in Celery's spelling, which has its own scheme for Unix sockets, and no Sentinels."""
    if not redis_url.startswith("unix://"):
        return redis_url.partition("?sentinels=")[0]
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")


def unencrypted(databases: dict[str, dict[str, Any]], redis_url: str) -> list[str]:
    """The variables of engines on other hosts whose connections others can read or take over."""
    names = []
    for alias, entry in databases.items():
        mode = entry["OPTIONS"].get("sslmode", os.environ.get("PGSSLMODE", ""))
        if not all(map(is_local, entry["HOST"].split(","))) and mode not in {"verify-full", "verify-ca"}:
            names.append("DATABASE_URL" if alias == "default" else "DATABASE_REPLICA_URL")
    parts = split_url("REDIS_URL", redis_url, "")
    hosts = re.findall(r"([^,=]+):\d+", parts.query) if "sentinels=" in parts.query else [parts.hostname or ""]
    if not all(map(is_local, hosts)) and "ssl_cert_reqs=required" not in parts.query:
        names.append("REDIS_URL")
    return names


def _options(name: str, parts: SplitResult, example: str) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    if len(options := dict(pairs)) < len(pairs):
        raise Misconfigured(name, "has an option twice", example)
    if parts.fragment:
        raise Misconfigured(name, "contains a “#”, which a password writes as %23", example)
    return options
