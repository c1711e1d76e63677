"""Connections to services: direct, or through the operator's HTTP proxy.

We resolve host names; the proxy gets IP addresses. A proxy inside the network would otherwise resolve the name again
and could reach an address that the policy denies. TLS runs through the tunnel, so the proxy cannot read it.
"""

from base64 import b64encode
from collections.abc import Callable
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from notifications.net.deadline import DeadlineSocket, connect, resolve

MAX_REPLY = 8 * 1024


class ProxyRefused(OSError):
    """The operator's proxy did not open the tunnel; the message is what it answered."""


def open_connection(host: str, port: int, permit: Callable[[str], bool]) -> DeadlineSocket:
    """Return a connection to the host. Raises what `connect` does, and ProxyRefused."""
    if not settings.EGRESS_PROXY:
        return connect(host, port, permit)
    proxy = urlsplit(settings.EGRESS_PROXY)
    failure: OSError = ProxyRefused("no address")
    for *_, address in resolve(host, port, permit):
        tunnel = connect(str(proxy.hostname), proxy.port or 3128)
        try:
            _open_tunnel(tunnel, proxy, f"[{address[0]}]:{port}" if ":" in address[0] else f"{address[0]}:{port}")
        except BaseException as error:
            tunnel.close()
            if not isinstance(error, ProxyRefused):
                raise
            failure = error
        else:
            return tunnel
    raise failure


def _open_tunnel(tunnel: DeadlineSocket, proxy: SplitResult, target: str) -> None:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(user.encode()).decode()}")
    tunnel.send_to_proxy("\r\n".join([*lines, "", ""]).encode())
    if (status := _read_reply(tunnel).split(b" ")[1:2]) != [b"200"]:
        raise ProxyRefused(status[0][:3].decode("ascii", "replace") if status else "something that is not HTTP")


def _read_reply(tunnel: DeadlineSocket) -> bytes:
    """Read up to the empty line, and no byte more: what follows comes from the service."""
    reply, byte = bytearray(), bytearray(1)
    while not reply.endswith(b"\r\n\r\n"):
        if not tunnel.recv_into(byte) or len(reply) > MAX_REPLY:
            raise ProxyRefused("something that is not HTTP")
        reply += byte
    return bytes(reply)
