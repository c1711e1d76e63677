"""The address policy without the network; test_http.py shows that the client applies it."""

import random
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from pytest_django.fixtures import Settings

from notifications.net.address_policy import RefusedURL, check_url, permitted, permitted_port

DENIED = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.0.0.53 127.255.255.254
168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 169.254.42.42 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192
192.0.2.1 192.88.99.1 192.168.0.1 192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1
239.255.255.250 240.0.0.1 255.255.255.255
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1
64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:10::1
2001:20::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe:: 2002:808:808::1 3fff::1 3fff:fff::1 4000::1
5f00::1 fc00::1 fd00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::a9fe:a9fe fe80::1%eth0 2606:4700::1111%eth0 febf::1
fec0::1 ff02::1 ff0e::1
localhost 127.1 0x7f.1 2130706433 256.1.1.1
"""

PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 93.184.216.34 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1
168.63.129.15 169.253.255.255 169.255.0.1 172.15.255.255 172.32.0.1 192.0.1.1 192.0.3.1 192.167.255.255 192.169.0.1
198.17.255.255 198.20.0.1 203.0.112.1 203.0.114.1 223.255.255.255
::ffff:8.8.8.8 2001:200::1 2001:4860:4860::8888 2003::1 2400:cb00::1 2606:4700:4700::1111 2a00:1450:4001::1
2c0f:fb50::1 3ffe:ffff::1
"""

REFUSED = """
example.org/hooks //example.org/hooks ftp://example.org/ file:///etc/passwd gopher://example.org/_ javascript:alert(1)
http:// http:///hooks https://?x http://ada@example.org/ http://ada:secret@example.org/ http://example.org@127.0.0.1/
http://127.0.0.1#@example.org/ http://example.org:99999/ http://example.org:x/ http://example.org:22/
http://example.org:25/ http://example.org:6379/ http://example.org:5432/ http://localhost/ http://LOCALHOST:8000/
http://localhost./ http://a.localhost/ http://localhost.localdomain/ http://printer/ http://printer.local/
http://metadata/ http://metadata.google.internal/ http://metadata.google.internal./ http://router.home.arpa/
http://wiki.corp/ http://127.0.0.1/ http://127.0.0.1./ http://127.1/ http://127.0.1/ http://2130706433/
http://0x7f000001/ http://0x7f.0.0.1/ http://0177.0.0.1/ http://017700000001/ http://0/ http://0.0.0.0:8000/
http://127.0.0.01/ http://127.0.0.256/ http://%31%32%37.0.0.1/ http://127%2e0%2e0%2e1/ http://１２７.０.０.１/
http://127。0。0。1/ http://①②⑦.⓪.⓪.①/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/ http://xn--/ http://.example.org/ http://example..org/
http://-example.org/ http://*.example.org/
http://169.254.169.254/latest/meta-data/
http://2852039166/ http://0xa9fea9fe/ http://192.168.1.1/ http://10.0.0.1/ http://100.100.100.200/
http://168.63.129.16/ http://[::1]/ http://[::]/ http://[0:0:0:0:0:0:0:1]:8000/ http://[::ffff:127.0.0.1]/
http://[::ffff:7f00:1]/ http://[::127.0.0.1]/ http://[64:ff9b::7f00:1]/ http://[2002:7f00:1::]/
http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/ http://[fe80::1%25eth0]/ http://[fe80::1]/ http://[fd00:ec2::254]/
http://[fec0::1]/ http://[::1/ http://[v1.x]/ http://[127.0.0.1]/ http://::1/
"""

REFUSED_URLS = [
    *REFUSED.split(),
    "",
    "http://" + "a" * 64 + ".org/",
    "http://example.org\\@127.0.0.1/",
    "http://exa mple.org/",
    "http://example.org/\r\nHost: x",
    "http://example.org/\x00",
    "http://loc\u00adalhost/",
    "http://" + "a.bc" * 70 + ".org/",
    "https://example.org/" + "x" * 2000,
]


@pytest.fixture(autouse=True)
def nothing_is_allowed(only_the_loopback_is_allowed: None, settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = []


def test_only_public_addresses_are_permitted() -> None:
    assert [address for address in DENIED.split() if permitted(address, [])] == []
    assert [address for address in PUBLIC.split() if not permitted(address, [])] == []


def test_no_address_is_permitted_that_python_calls_private() -> None:
    chance = random.Random(20261120)
    addresses = [IPv4Address(chance.getrandbits(32)) for _ in range(10_000)]
    sixes = [IPv6Address(chance.getrandbits(128) >> chance.randrange(90)) for _ in range(10_000)]
    near = [IPv6Address((0x2000 + chance.getrandbits(12) << 112) + chance.getrandbits(112)) for _ in range(10_000)]
    for address in [*addresses, *sixes, *near]:
        if permitted(str(address), []):
            assert address.is_global or getattr(address, "ipv4_mapped", None), address
            assert not address.is_multicast, address


def test_the_operator_allows_networks_and_nothing_else() -> None:
    allowed = [ip_network("10.1.0.0/16"), ip_network("fd00::/64")]
    assert permitted("10.1.2.3", allowed)
    assert permitted("::ffff:10.1.2.3", allowed)
    assert permitted("fd00::1", allowed)
    assert not permitted("10.2.0.1", allowed)
    assert not permitted("fd00:0:0:1::1", allowed)


@pytest.mark.parametrize("url", REFUSED_URLS)
def test_a_url_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(RefusedURL) as refusal:
        check_url(url)
    assert str(refusal.value).endswith(".")
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://example.org", "https://example.org/"),
        ("  https://example.org/hooks?a=b#part ", "https://example.org/hooks?a=b"),
        ("HTTPS://Example.ORG:8443/Hooks", "https://example.org:8443/Hooks"),
        ("http://example.org.:80/", "http://example.org.:80/"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/ä"),
        ("https://ｅｘａｍｐｌｅ.org/", "https://example.org/"),
        ("http://93.184.216.34/", "http://93.184.216.34/"),
        ("http://[2606:4700:4700:0::1111]:8080/x", "http://[2606:4700:4700::1111]:8080/x"),
        ("https://hooks.my-shop.example/a@b", "https://hooks.my-shop.example/a@b"),
        ("https://a_b.example/", "https://a_b.example/"),
        ("https://127.0.0.1.nip.io/", "https://127.0.0.1.nip.io/"),  # checked when it resolves
        ("https://xn--fiqs8s/", None),
        ("https://0x7f.example/", "https://0x7f.example/"),
    ],
)
def test_a_url_becomes_canonical(url: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(RefusedURL):
            check_url(url)
    else:
        assert check_url(url) == canonical
        assert check_url(canonical) == canonical


def test_short_names_are_accepted_if_the_operator_allows_a_network(settings: Settings) -> None:
    settings.ALLOWED_NETWORKS = ["172.18.0.0/16"]
    assert check_url("http://gitea:3000/hook") == "http://gitea:3000/hook"
    assert check_url("http://172.18.0.4:3000/hook") == "http://172.18.0.4:3000/hook"
    for denied in ("http://localhost:3000/", "http://172.19.0.4/", "http://127.0.0.1:3000/"):
        with pytest.raises(RefusedURL):
            check_url(denied)


@pytest.mark.parametrize("network", ["127.0.0.0/8", "::1/128"])
def test_localhost_is_accepted_if_one_of_its_addresses_is_allowed(settings: Settings, network: str) -> None:
    settings.ALLOWED_NETWORKS = [network]
    assert check_url("http://localhost:3000/") == "http://localhost:3000/"


def test_the_refusal_of_a_private_address_names_the_setting() -> None:
    with pytest.raises(RefusedURL, match="ALLOWED_NETWORKS"):
        check_url("http://192.168.1.20:8123/")


def test_only_web_ports_are_permitted() -> None:
    web = [80, 443, 1024, 3000, 8000, 8080, 8443, 32768, 60999, 65535]
    others = [-1, 0, 1, 22, 25, 53, 81, 110, 1023, 2375, 3306, 5432, 6379, 9200, 11211, 27017, 65536]
    assert [port for port in (*web, *others) if permitted_port(port)] == web
