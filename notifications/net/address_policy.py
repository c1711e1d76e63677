"""The addresses that people may enter, and the ones that we connect to.

Explicit lists: IPv4 except what is denied, IPv6 only what is allowed. On Python 3.11, `ipaddress.is_global` is true of
64:ff9b::7f00:1, 2002:7f00:1::, ::127.0.0.1, fec0::1 and 224.0.0.1, all of which can lead into a private network.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit, urlunsplit

import idna
from django.conf import settings
from django.utils.translation import gettext as _

from notifications.reasons import DeliveryCode
from work.reasons import Reason

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

EXAMPLE = "https://example.org/hooks/carillon"
MAX_LENGTH = 2000

# https://www.iana.org/assignments/ipv6-unicast-address-assignments
_UNICAST_V6 = IPv6Network("2000::/3")
_DENIED = tuple(
    ip_network(network)
    for network in (
        # https://www.iana.org/assignments/iana-ipv4-special-registry
        "0.0.0.0/8",  # "this network": Linux connects to itself
        "10.0.0.0/8",
        "100.64.0.0/10",  # shared by carriers; Alibaba's metadata host is in it
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent, on a public address
        "169.254.0.0/16",  # link-local: the metadata host of most clouds
        "172.16.0.0/12",
        "192.0.0.0/24",  # protocol assignments; Oracle's metadata host is in it
        "192.0.2.0/24",
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # class E and broadcast
        "2001::/23",  # Teredo, ORCHID and other protocol assignments
        "2001:db8::/32",
        "2002::/16",  # 6to4 carries any IPv4 address
        "3fff::/20",
    )
)

# Services on these ports speak other protocols and could read our request as commands.
# fmt: off
_SERVICE_PORTS = frozenset((
    1080, 1433, 1434, 1521, 1719, 1720, 1723, 2049, 2181, 2375, 2376, 2379, 2380, 2525, 3128, 3268,
    3269, 3306, 3389, 3659, 4045, 4190, 4369, 4444, 5060, 5061, 5432, 5433, 5671, 5672, 5900, 5901,
    5984, 5985, 5986, 6000, 6379, 6380, 6432, 6443, 6566, 6665, 6666, 6667, 6668, 6669, 6697, 7000,
    7001, 8500, 9042, 9092, 9100, 9200, 9300, 10080, 10250, 10255, 11211, 11371, 15672, 26379,
    27017, 27018, 27019, 61616,
))
# fmt: on

_PRIVATE = ("local", "localdomain", "internal", "intranet", "lan", "corp", "home", "home.arpa", "private")
_PRIVATE_SUFFIXES = tuple(f".{name}" for name in _PRIVATE)


class RefusedURL(ValueError):
    """Carillon does not post to this address. The message says why, and what to enter instead."""

    def __init__(self, message: str, code: DeliveryCode = DeliveryCode.FORBIDDEN, **values: object) -> None:
        super().__init__(message % {"example": EXAMPLE, **values})
        self.reason = Reason(code)


def permitted(address: str, allowed: Iterable[Network]) -> bool:
    """Return whether this IP address is public, or in one of the operator's `allowed` networks."""
    try:
        parsed: Address = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        if parsed.scope_id is not None:
            return False
        parsed = parsed.ipv4_mapped or parsed
    if any(parsed in network for network in allowed):
        return True
    return (parsed.version == 4 or parsed in _UNICAST_V6) and not any(parsed in network for network in _DENIED)


def permitted_port(port: int) -> bool:
    return port in (80, 443) or (1024 <= port <= 65535 and port not in _SERVICE_PORTS)


def is_localhost(host: str) -> bool:
    name = host.removesuffix(".")
    return name == "localhost" or name.endswith(".localhost")


def allowed_networks() -> tuple[Network, ...]:
    """Return the networks of settings.ALLOWED_NETWORKS. Raises ValueError for an invalid one."""
    return _parsed(tuple(settings.ALLOWED_NETWORKS))


@lru_cache(maxsize=8)
def _parsed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(network) for network in networks)


def check_url(url: str) -> str:
    """Return the address in canonical form, without a fragment. Raises RefusedURL. Does not resolve the host.

    The host may still resolve to a private address; that is checked when we connect.
    """
    if len(url := url.strip()) > MAX_LENGTH:
        raise RefusedURL(_("The address is longer than %(most)s characters."), most=MAX_LENGTH)
    if re.search(r"[\x00-\x20\x7f\\]", url):
        raise RefusedURL(
            _("The address contains a space, a backslash or a control character. Enter one like %(example)s.")
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise RefusedURL(_("This is not a web address. Enter one like %(example)s.")) from None
    if parts.scheme not in ("http", "https"):
        raise RefusedURL(_("The address must start with https:// or http://, like %(example)s."))
    if "@" in parts.netloc:
        raise RefusedURL(_("Leave out the user name and password before the @. Other people could see them."))
    host = _canonical_host(parts)
    _refuse_private(host)
    netloc = f"[{host}]" if ":" in host else host
    if port is not None:
        if not permitted_port(port):
            raise RefusedURL(
                _("Port %(port)s is not allowed. Use 443, 80 or a web server's port above 1023."), port=port
            )
        netloc = f"{netloc}:{port}"
    return urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))


def _canonical_host(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower()
    try:
        if "[" in parts.netloc or ":" in host:
            return str(IPv6Address(host))
        if not host.isascii():
            host = idna.encode(host, uts46=True).decode("ascii")
        labels = host.removesuffix(".").split(".")
        if not all(re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels):
            raise ValueError(host)
        # Resolvers read a name that ends in a number as an IPv4 address: 127.1, 0x7f000001, 2130706433.
        if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
            return str(IPv4Address(host))
    except ValueError:  # idna.IDNAError is one
        raise RefusedURL(_("The address has no valid host name. Enter one like %(example)s.")) from None
    if len(host) > 253:
        raise RefusedURL(_("The host name is longer than 253 characters."))
    return host


def _refuse_private(host: str) -> None:
    networks = allowed_networks()
    name = host.removesuffix(".")
    if is_localhost(name):
        # One of the two that is allowed is enough: connecting leaves out the other.
        reached = "::1" if permitted("::1", networks) else "127.0.0.1"
    elif re.fullmatch(r"[0-9.]+", name) or ":" in name:
        reached = name
    elif not networks and ("." not in name or name.endswith(_PRIVATE_SUFFIXES)):
        reached = "0.0.0.0"  # noqa: S104 (a denied address, not one that we bind)
    else:  # a network that the operator allowed may have short names; connecting still checks their addresses
        return
    if not permitted(reached, networks):
        raise RefusedURL(str(Reason(DeliveryCode.PRIVATE)), DeliveryCode.PRIVATE)
