"""Readers of environment variables, and their errors of one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from config.environment import engine_urls, env


def test_a_variable_that_is_empty_counts_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAME", " ")
    assert env.text("NAME", "default") == "default"
    assert env.integer("NAME", 7) == 7
    assert env.flag("NAME", True) is True
    assert env.listing("NAME", ["a", "b"]) == ["a", "b"]
    assert env.listing("NAME", []) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [("on", True), ("Yes", True), ("1", True), ("TRUE", True), ("off", False), ("no", False), ("0", False)],
)
def test_a_flag_takes_the_usual_words(written: str, meant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGN_UP", written)
    assert env.flag("SIGN_UP", not meant) is meant


def test_a_list_is_separated_by_commas_and_forgives_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_NETWORKS", " 10.0.0.0/8, fd00::/8 ,")
    assert env.listing("ALLOWED_NETWORKS", []) == ["10.0.0.0/8", "fd00::/8"]


@pytest.mark.parametrize(
    ("read", "name", "value"),
    [
        (lambda: env.flag("DEBUG", False), "DEBUG", "perhaps"),
        (lambda: env.url("CANARY_PING_URL"), "CANARY_PING_URL", "hc-ping.com/x"),
        (lambda: env.openid_provider("OIDC_URL"), "OIDC_URL", "https://id.example.org"),
        (lambda: env.openid_provider("OIDC_URL"), "OIDC_URL", "http://client:secret@id.example.org"),
        (lambda: env.choice("LOG_FORMAT", ("text", "json")), "LOG_FORMAT", "xml"),
        (lambda: env.integer("PORT", 8000), "PORT", "8000x"),
        (lambda: env.hosts("ALLOWED_HOSTS", []), "ALLOWED_HOSTS", "localhost,https://carillon.example.org"),
        (lambda: env.integer("BACKUP_KEEP", 14), "BACKUP_KEEP", "-1"),
        (lambda: env.integer("BACKUP_EVERY_HOURS", 24, 1), "BACKUP_EVERY_HOURS", "0"),
        (lambda: env.url("BASE_URL", ""), "BASE_URL", "carillon.example.org"),
        (lambda: env.url("BASE_URL", ""), "BASE_URL", "ftp://carillon.example.org"),
        (lambda: env.url("BASE_URL", ""), "BASE_URL", "https://"),
        (lambda: env.url("BASE_URL", ""), "BASE_URL", "https://[::1"),
        (lambda: env.url("BASE_URL", ""), "BASE_URL", "https://host:notaport"),
        *[
            (lambda: env.origin("BASE_URL", ""), "BASE_URL", f"https://{rest}")
            for rest in ("example.org/carillon", "example.org/?x=1", "example.org/#x", "me@example.org", "a..example")
        ],
        *[
            (lambda: env.origins("API_ORIGINS"), "API_ORIGINS", value)
            for value in ("*", "app.example.org", "https://example.org,https://app.example.org/path")
        ],
        *[
            (lambda: env.host("PING_DOMAIN"), "PING_DOMAIN", value)
            for value in (
                "https://ping.example.org",
                "ping.example.org:25",
                "@ping.example.org",
                "a.example, b.example",
            )
        ],
        *[
            (lambda: env.mailbox("MAIL_RETURN_PATH"), "MAIL_RETURN_PATH", value)
            for value in ("bounces", "@example.org", "Bounces <b@example.org>", "b@example.org, c@example.org")
        ],
        (lambda: env.proxy(env.text("EGRESS_PROXY")), "EGRESS_PROXY", "https://proxy:3128"),
        (lambda: env.proxy(env.text("EGRESS_PROXY")), "EGRESS_PROXY", "http://proxy"),
        (lambda: env.certificates("EXTRA_CA_FILE"), "EXTRA_CA_FILE", "/nowhere.pem"),
        (lambda: env.certificates("EXTRA_CA_FILE"), "EXTRA_CA_FILE", __file__),
        (lambda: env.proxy(env.text("EGRESS_PROXY")), "EGRESS_PROXY", "proxy:3128"),
    ],
)
def test_a_wrong_value_is_reported_in_one_line_with_an_example(
    read: Callable[[], object], name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(env.Misconfigured) as wrong:
        read()
    assert str(wrong.value).startswith(f"{name} ")
    assert f"for example {name}=" in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_secret_may_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    assert env.text("SECRET_KEY") == "s3cret"
    assert env.text("SECRET_KEY", default="kept") == "s3cret"


def test_a_secret_that_is_not_given_takes_the_default_or_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET_KEY", raising=False)
    assert env.text("SECRET_KEY", default="kept") == "kept"
    with pytest.raises(env.Misconfigured, match=r"^SECRET_KEY is not set"):
        env.text("SECRET_KEY")


@pytest.mark.parametrize(
    ("contents", "says"), [(None, "No such file"), (b"", "empty file"), (b"\xff\xfe\xff", "not text")]
)
def test_a_useless_secret_file_is_reported_by_its_variable(
    contents: bytes | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if contents is not None:
        (tmp_path / "key").write_bytes(contents)
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(env.Misconfigured, match=rf"^SECRET_KEY_FILE names .*{says}"):
        env.text("SECRET_KEY", default="kept")


def test_a_secret_given_twice_is_refused_without_showing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hush-hush")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "key"))
    with pytest.raises(env.Misconfigured, match="set twice") as wrong:
        env.text("SECRET_KEY")
    assert "hush" not in str(wrong.value)


def test_ports_and_encryption_of_mail_follow_from_the_scheme() -> None:
    assert env.mail("smtp://localhost") == env.MailServer("localhost", 25, "", "", starttls=False, tls=False)
    assert env.mail("smtp+tls://me%40here:p%3Aw@mail.example") == env.MailServer(
        "mail.example", 587, "me@here", "p:w", starttls=True, tls=False
    )
    assert env.mail("smtps://mail.example:4650") == env.MailServer(
        "mail.example", 4650, "", "", starttls=False, tls=True
    )


@pytest.mark.parametrize(
    ("read", "name", "value"),
    [
        (engine_urls.database, "DATABASE_URL", "mysql://me:hush-hush@db.example/carillon"),
        (engine_urls.database, "DATABASE_URL", "postgresql://me:hush-hush@db.example"),
        (engine_urls.database, "DATABASE_URL", "postgresql://me:hush-hush@db.example/a/b"),
        (engine_urls.database, "DATABASE_URL", "postgresql://me:hush-hush@db.example:54x2/carillon"),
        (engine_urls.database, "DATABASE_URL", "postgresql://me:hush#hush@db.example/carillon"),
        (env.mail, "EMAIL_URL", "mail.example"),
        (env.mail, "EMAIL_URL", "smtp://"),
        (env.mail, "EMAIL_URL", "http://me:hush-hush@mail.example"),
        (env.mail, "EMAIL_URL", "smtp://me:hush-hush@mail.example:99999"),
        (engine_urls.redis, "REDIS_URL", "localhost:6379"),
        (engine_urls.redis, "REDIS_URL", "http://:hush-hush@localhost"),
        (engine_urls.redis, "REDIS_URL", "redis://:hush-hush@localhost/first"),
        (engine_urls.redis, "REDIS_URL", "unix://"),
        (engine_urls.redis, "REDIS_URL", "unix:///run/r.sock?db=first"),
        (engine_urls.rabbitmq, "BROKER_URL", "redis://:hush-hush@localhost/0"),
        (engine_urls.rabbitmq, "BROKER_URL", "amqp://me:hush-hush@/carillon"),
        (engine_urls.rabbitmq, "BROKER_URL", "amqp://me:hush#hush@localhost"),
        (engine_urls.rabbitmq, "BROKER_URL", "amqp://me:hush-hush@localhost/carillon?heartbeat=5"),
        (engine_urls.rabbitmq, "BROKER_URL", "amqp://me:hush-hush@localhost?ssl_cert_reqs=required"),
        (engine_urls.rabbitmq, "BROKER_URL", "amqps://me:hush-hush@localhost?ssl_cert_reqs=optional"),
    ],
)
def test_a_wrong_url_is_reported_without_its_password(read: Callable[[str], object], name: str, value: str) -> None:
    with pytest.raises(env.Misconfigured) as wrong:
        read(value)
    assert str(wrong.value).startswith(f"{name} ")
    assert f"for example {name}=" in str(wrong.value)
    assert "hush" not in str(wrong.value)
    assert "\n" not in str(wrong.value)
    assert wrong.value.__suppress_context__ or wrong.value.__cause__ is None


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("10.0.0.0/8, local", "ALLOWED_NETWORKS contains “local”, which is not a network, for example"),
        ("10.0.0.1/8", "ALLOWED_NETWORKS contains “10.0.0.1/8”, which has bits set beyond its prefix, for example"),
        ("10.0.0.0/33", "ALLOWED_NETWORKS contains “10.0.0.0/33”, which is not a network, for example"),
    ],
)
def test_a_malformed_network_is_named_at_the_start(monkeypatch: pytest.MonkeyPatch, value: str, wrong: str) -> None:
    monkeypatch.setenv("ALLOWED_NETWORKS", value)
    with pytest.raises(env.Misconfigured, match=re.escape(wrong)):
        env.networks("ALLOWED_NETWORKS")
    monkeypatch.setenv("ALLOWED_NETWORKS", "10.0.0.0/8, fd00::/8, 192.0.2.7")
    assert env.networks("ALLOWED_NETWORKS") == ["10.0.0.0/8", "fd00::/8", "192.0.2.7"]


KEY = "oqc24VafcddKGQNsg80z7j21KuAayCy9SXrwag00sXY="


def test_encryption_keys_are_separated_by_commas() -> None:
    assert env.encryption_keys(f"{KEY}, {KEY},") == [KEY, KEY]


@pytest.mark.parametrize(
    "value",
    [f"{KEY},planted", "planted", f"{KEY[:-2]}", "schlüssel", ","],
    ids=["second", "only", "short", "unicode", "empty"],
)
def test_a_wrong_encryption_key_is_said_by_its_place_and_never_shown(value: str) -> None:
    with pytest.raises(env.Misconfigured) as wrong:
        env.encryption_keys(value)
    assert str(wrong.value).startswith("ENCRYPTION_KEYS contains")
    assert "planted" not in str(wrong.value) and KEY not in str(wrong.value)


def test_sends_at_once_are_a_number_and_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.sends_at_once("SENDS", 8) == {"": 8}
    monkeypatch.setenv("SENDS", "4, Hooks.example.org=1")
    assert env.sends_at_once("SENDS", 8) == {"": 4, "hooks.example.org": 1}
    monkeypatch.setenv("SENDS", "hooks.example.org=1")
    assert env.sends_at_once("SENDS", 8) == {"": 8, "hooks.example.org": 1}


@pytest.mark.parametrize("value", ["0", "-1", "many", "=2", "a.example=", "a.example=0", "8,a.example"])
def test_wrong_sends_at_once_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SENDS", value)
    with pytest.raises(env.Misconfigured, match=r"^SENDS .*, for example SENDS=8,"):
        env.sends_at_once("SENDS", 8)


def test_waits_are_read_for_each_kind_of_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.retry_waits("WAITS_") == {}
    (tmp_path / "waits").write_text("7\n")
    monkeypatch.setenv("WAITS_SLACK_FILE", str(tmp_path / "waits"))
    monkeypatch.setenv("WAITS_WEBHOOK", "60, 300,1800")
    monkeypatch.setenv("WAITS_EMAIL", "5")
    monkeypatch.setenv("WAITS_NTFY", "")
    assert env.retry_waits("WAITS_") == {"webhook": (60.0, 300.0, 1800.0), "email": (5.0,), "slack": (7.0,)}


@pytest.mark.parametrize("value", ["0", "60,x", "1.5", "-5", "604801", ",".join(["1"] * 51)])
def test_wrong_waits_are_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAITS_WEBHOOK", value)
    with pytest.raises(env.Misconfigured, match=r"^WAITS_WEBHOOK .*, for example WAITS_WEBHOOK=60,300,1800"):
        env.retry_waits("WAITS_")


def test_a_default_spread_is_a_range_of_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.spread("SPREAD") == (0, 0)
    monkeypatch.setenv("SPREAD", "30-50")
    assert env.spread("SPREAD") == (30, 50)


@pytest.mark.parametrize("value", ["50", "50-30", "-5-10", "0-3601", "a-b"])
def test_a_wrong_default_spread_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPREAD", value)
    with pytest.raises(env.Misconfigured, match=r"^SPREAD .*, for example SPREAD=30-50"):
        env.spread("SPREAD")


def test_kinds_of_job_may_have_queues_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.queues(env.job_queues("QUEUES")) == ["deliveries", "events", "jobs", "bulk", "maintenance"]
    monkeypatch.setenv("QUEUES", "web_value=slow, feed=slow")
    assert env.queues(env.job_queues("QUEUES"))[-1] == "slow"
    for wrong in ("web_value", "=slow", "feed=No Queue"):
        monkeypatch.setenv("QUEUES", wrong)
        with pytest.raises(env.Misconfigured, match=r"^QUEUES contains"):
            env.job_queues("QUEUES")


def test_a_short_signing_key_is_refused_unless_errors_are_debugged() -> None:
    assert env.signing_key("k" * 32, debug=False) == "k" * 32
    assert env.signing_key("short", debug=True) == "short"
    with pytest.raises(env.Misconfigured, match="SECRET_KEY has 31 characters, but needs at least 32"):
        env.signing_key("k" * 31, debug=False)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("/run", True),
        ("", True),
        ("db", False),
        ("10.0.0.1", False),
    ],
)
def test_a_host_is_this_machine_or_another(host: str, local: bool) -> None:
    assert env.is_local(host) is local


@pytest.mark.parametrize("value", ["https://example.org/", "HTTPS://Example.org"])
def test_the_public_address_is_read_in_one_form(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE_URL", value)
    assert env.origin("BASE_URL", "") == "https://example.org"


def test_sites_are_read_as_browsers_name_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.origins("API_ORIGINS") == []
    monkeypatch.setenv("API_ORIGINS", "https://App.example.org/, http://localhost:3000")
    assert env.origins("API_ORIGINS") == ["https://app.example.org", "http://localhost:3000"]


def test_an_openid_provider_is_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env.openid_provider("OIDC_URL") is None
    monkeypatch.setenv("OIDC_URL", "https://me:a%2Fb%40@id.example.org:8443/realms/home/")
    expected = env.OpenIDProvider("https://id.example.org:8443/realms/home", "me", "a/b@", "id.example.org")
    assert env.openid_provider("OIDC_URL") == expected
