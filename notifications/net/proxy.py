"""The way out to services: straight to an address that the guard permits, or through the operator's proxy.

The proxy is given the address that was checked here, never the name: a proxy inside the network would otherwise look
the name up itself, and could be led to what the guard forbids. TLS is spoken through it, so it reads nothing of that.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from notifications.net.deadline import BoundedSocket, dial, look_up, unsaid

LONGEST_REPLY = 8 * 1024


class ProxyRefused(OSError):
    """The operator's proxy did not open the way; the message says what it answered."""


def reach(host: str, port: int, permit: Callable[[str], bool]) -> BoundedSocket:
    """Return a connection to the host. Raises what `dial` does, and ProxyRefused."""
    if not settings.EGRESS_PROXY:
        return dial(host, port, permit)
    proxy = urlsplit(settings.EGRESS_PROXY)
    failure: OSError = ProxyRefused("no address")
    for *_, address in look_up(host, port, permit):
        tunnel = dial(str(proxy.hostname), proxy.port or 3128)
        try:
            with unsaid():
                _ask(tunnel, proxy, f"[{address[0]}]:{port}" if ":" in address[0] else f"{address[0]}:{port}")
        except ProxyRefused as refusal:
            tunnel.close()
            failure = refusal
        except BaseException:
            tunnel.close()
            raise
        else:
            return tunnel
    raise failure


def _ask(tunnel: BoundedSocket, proxy: SplitResult, target: str) -> None:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username is not None:
        who = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append(f"Proxy-Authorization: Basic {b64encode(who.encode()).decode()}")
    tunnel.sendall("\r\n".join([*lines, "", ""]).encode())
    status = _reply(tunnel).split(b" ")[1:2]
    if status != [b"200"]:
        told = status[0][:3].decode("ascii", "replace") if status else "nothing that is HTTP"
        raise ProxyRefused(told)


def _reply(tunnel: BoundedSocket) -> bytes:
    """Read up to the empty line and not a byte more: what follows is the service's."""
    reply, byte = bytearray(), bytearray(1)
    while not reply.endswith(b"\r\n\r\n"):
        if not tunnel.recv_into(byte) or len(reply) > LONGEST_REPLY:
            raise ProxyRefused("nothing that is HTTP")
        reply += byte
    return bytes(reply)
