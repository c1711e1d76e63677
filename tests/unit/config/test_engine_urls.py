"""DATABASE_URL and REDIS_URL: one reading for all libraries, TLS by default, and nothing unknown passes."""

from __future__ import annotations

import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from kombu import Connection
from redis.connection import parse_url

from config.environment import engine_urls
from config.environment.env import Misconfigured
from work.broker import rabbitmq, transport


@pytest.fixture(autouse=True)
def no_files_of_libpq(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PGSSLMODE", raising=False)


def test_a_database_url_becomes_an_entry_of_django() -> None:
    assert engine_urls.database("postgresql://me:p%40ss%2Fword@db.example:5433/caril%6Con?sslmode=require") == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "carillon",
        "USER": "me",
        "PASSWORD": "p@ss/word",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": {**engine_urls.DATABASE_TIMEOUTS, "sslmode": "require"},
    }


def test_a_database_has_timeouts_that_its_url_may_override() -> None:
    url = "postgresql://me@db.example/carillon"
    ours = engine_urls.database(url)["OPTIONS"]
    assert (ours["connect_timeout"], ours["tcp_user_timeout"], ours["keepalives_idle"]) == ("5", "10000", "10")
    assert "idle_in_transaction_session_timeout=60s" in ours["options"]
    theirs = engine_urls.database(f"{url}?tcp_user_timeout=60000&options=")["OPTIONS"]
    assert (theirs["tcp_user_timeout"], theirs["options"], theirs["connect_timeout"]) == ("60000", "", "5")


def test_a_database_url_may_name_the_directory_of_a_socket() -> None:
    for value in ("postgres://me@/carillon?host=/a%20dir/run", "postgresql://me@%2Fa%20dir%2Frun/carillon"):
        entry = engine_urls.database(value)
        assert (entry["HOST"], entry["USER"], entry["PORT"]) == ("/a dir/run", "me", "")


def test_of_several_servers_that_is_used_which_takes_writes() -> None:
    for url in ("postgresql://me@db1:5433,db2/carillon", "postgresql://me@/carillon?host=db1,db2&port=5433,"):
        entry = engine_urls.database(url)
        assert (entry["HOST"], entry["PORT"]) == ("db1,db2", "5433,")
        assert entry["OPTIONS"]["target_session_attrs"] == "read-write"
    assert engine_urls.database("postgresql://me@db1,db2/carillon?target_session_attrs=any")["PORT"] == ""
    assert "target_session_attrs" not in engine_urls.database("postgresql://me@db1/carillon")["OPTIONS"]


def test_a_socket_directory_as_host_keeps_its_capital_letters() -> None:
    assert engine_urls.database("postgresql://me@%2FVar%2FRun/carillon")["HOST"] == "/Var/Run"


@pytest.mark.parametrize("host", ["db.example", "10.0.0.7", "[2001:db8::1]", "db1,db2"])
def test_the_certificate_of_a_database_on_another_host_is_verified(host: str, tmp_path: Path) -> None:
    url = f"postgresql://me@{host}/carillon"
    options = engine_urls.database(url)["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert Path(options["sslrootcert"]).exists()
    assert engine_urls.database(f"{url}?sslrootcert=/ca.pem")["OPTIONS"]["sslrootcert"] == "/ca.pem"
    chosen = engine_urls.database(f"{url}?sslmode=disable")
    assert chosen["OPTIONS"]["sslmode"] == "disable"
    assert engine_urls.unencrypted({"default": chosen}, "redis://127.0.0.1/0") == ["DATABASE_URL"]
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql/root.crt").write_text("the operator's")
    assert "sslrootcert" not in engine_urls.database(url)["OPTIONS"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "%2Frun"])
def test_a_database_on_this_machine_needs_no_certificate(host: str) -> None:
    entry = engine_urls.database(f"postgresql://me@{host}/carillon")
    assert "sslmode" not in entry["OPTIONS"]
    assert engine_urls.unencrypted({"default": entry}, "rediss://cache.example/0?ssl_cert_reqs=required") == []


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("redis://localhost", "redis://localhost/0"),
        ("redis://:p%2Fw@127.0.0.1:6379/0", "redis://:p%2Fw@127.0.0.1:6379/0"),
        ("rediss://u:p@cache.example/15", "rediss://u:p@cache.example/15?ssl_cert_reqs=required"),
        ("rediss://h/0?ssl_cert_reqs=CERT_REQUIRED", "rediss://h/0?ssl_cert_reqs=required"),
        ("rediss://h/0?ssl_cert_reqs=none", "rediss://h/0?ssl_cert_reqs=none"),
        (
            f"rediss://h?ssl_ca_certs={__file__}&ssl_check_hostname=False",
            f"rediss://h/0?ssl_cert_reqs=required&ssl_ca_certs={__file__}&ssl_check_hostname=false",
        ),
        ("unix:///run/r.sock?db=3", "unix:///run/r.sock?db=3"),
        ("unix://:pw@/run/r.sock", "unix://:pw@/run/r.sock?db=0"),
    ],
)
def test_kombu_and_redis_py_read_the_same(value: str, meant: str) -> None:
    transport.install()
    assert engine_urls.redis(value) == meant
    ours: dict[str, Any] = {"port": 6379} | parse_url(meant)
    connection = Connection(engine_urls.broker(meant))
    channel = object.__new__(connection.get_transport_cls().Channel)  # connects to nothing
    channel.closed, channel.connection = True, SimpleNamespace(client=connection, default_port=6379)
    theirs = channel._connparams()
    for name in ("host", "path", "db", "username", "password", "ssl_ca_certs", "ssl_check_hostname"):
        assert theirs.get(name) == ours.get(name), name
    assert theirs.get("port", 6379) == ours["port"]
    assert theirs.get("ssl_cert_reqs") == _CHECKS[ours.get("ssl_cert_reqs")]


_CHECKS = {None: None, "required": ssl.CERT_REQUIRED, "none": ssl.CERT_NONE}


@pytest.mark.parametrize(
    "value",
    [
        "redis://localhost/0?db=3",
        "redis://localhost/0?ssl_cert_reqs=required",
        "redis://localhost/0?health_check_interval=1",
        "redis://localhost/0?visibility_timeout=1",
        "rediss://localhost/0?ssl_cert_reqs=optional",
        "rediss://localhost/0?ssl_cert_reqs=hush",
        "rediss://localhost/0?ssl_ca_certs=/no/such/hush",
        "rediss://localhost/0?ssl_check_hostname=hush",
        "unix:///run/r.sock?password=hush",
        "unix:///run/r.sock?db=0&socket_timeout=1",
        "unix:///run/r.sock?db=0&db=1",
        "sentinel://:hush@localhost:26379/0",
        "redis://:hush@mymaster/0?sentinels=localhost",
        "rediss://:hush@mymaster/0?sentinels=localhost:26379",
        "redis+sentinel://:hush@localhost:26379/0",
        "redis://:hu#sh@localhost",
        "redis://a:6379/0;redis://b:6379/0",
    ],
)
def test_an_option_that_would_be_read_in_two_ways_is_refused(value: str) -> None:
    with pytest.raises(Misconfigured, match=r"^REDIS_URL .*, for example REDIS_URL=") as wrong:
        engine_urls.redis(value)
    assert "hush" not in str(wrong.value)


@pytest.mark.parametrize(
    "query",
    [
        "sslmod=require",
        "user=x",
        "password=hush",
        "dbname=x",
        "client_encoding=latin1",
        "conn_max_age=60",
        "pool=true",
        "sslmode=require&sslmode=disable",
    ],
)
def test_an_unknown_option_of_a_database_is_refused(query: str) -> None:
    with pytest.raises(Misconfigured, match=r"^DATABASE_URL .*, for example DATABASE_URL=") as wrong:
        engine_urls.database(f"postgresql://me@db.example/carillon?{query}")
    assert "hush" not in str(wrong.value)


@pytest.mark.parametrize(
    ("redis_url", "found"),
    [
        ("redis://cache.example/0", ["REDIS_URL"]),
        ("rediss://cache.example/0?ssl_cert_reqs=none", ["REDIS_URL"]),
        ("rediss://cache.example/0?ssl_cert_reqs=required", []),
        ("redis://127.0.0.1/0", []),
        ("unix:///run/r.sock?db=0", []),
    ],
)
def test_a_redis_on_another_host_without_checked_certificate_is_named(redis_url: str, found: list[str]) -> None:
    databases = {"default": engine_urls.database("postgresql:///carillon")}
    assert engine_urls.unencrypted(databases, redis_url) == found


def test_the_certificate_of_rabbitmq_is_verified_unless_the_url_says_otherwise(tmp_path: Path) -> None:
    own = tmp_path / "ca.pem"
    own.touch()
    url = "amqps://me:p%40ss@mq.example:5671/carillon"
    bare, secured = engine_urls.rabbitmq(url)
    assert (bare, secured.pop("ca_certs", "") != "") == (url, True)
    assert secured == {"cert_reqs": ssl.CERT_REQUIRED, "server_hostname": "mq.example"}
    bare, secured = engine_urls.rabbitmq(f"{url}?ssl_ca_certs={own}&ssl_check_hostname=false")
    assert (bare, secured["ca_certs"], secured["server_hostname"]) == (url, str(own), None)
    assert engine_urls.rabbitmq(f"{url}?ssl_cert_reqs=none")[1] == {"cert_reqs": ssl.CERT_NONE}
    assert engine_urls.rabbitmq("amqp://localhost//") == ("amqp://localhost//", {})


def test_a_url_of_rabbitmq_leads_to_our_transport() -> None:
    rabbitmq.install()
    for scheme in ("amqp", "amqps"):
        with Connection(f"{scheme}://me@localhost/carillon") as connection:
            assert isinstance(connection.transport, rabbitmq.Transport)
            assert connection.virtual_host == "carillon"


def test_a_replica_has_a_standby_of_several_servers_and_is_named_where_it_is_not_checked() -> None:
    entry = engine_urls.database("postgresql://me@db2,db3/carillon?sslmode=disable", "DATABASE_REPLICA_URL")
    assert entry["OPTIONS"]["target_session_attrs"] == "prefer-standby"
    assert engine_urls.unencrypted({"replica": entry}, "redis://127.0.0.1/0") == ["DATABASE_REPLICA_URL"]
    with pytest.raises(Misconfigured, match="DATABASE_REPLICA_URL"):
        engine_urls.database("mysql://db2/carillon", "DATABASE_REPLICA_URL")
