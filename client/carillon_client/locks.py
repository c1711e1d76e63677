"""Named locks, taken for a time, renewed and released; and named counters."""

from collections.abc import Iterator

from carillon_client.connection import Resource
from carillon_client.documents import Acquired, Counter, Lock, Renewed


class Locks(Resource):
    def list(self) -> Iterator[Lock]:
        """Return those that somebody holds."""
        return self._connection.pages("/locks")

    def acquire(self, name: str, *, ttl: int = 30, holder: str = "") -> Acquired:
        """Yours for `ttl` seconds, counted from before the call; where somebody has it, `acquired` is false."""
        return self._connection.post("/locks/acquire", {"name": name, "ttl": ttl, "holder": holder})

    def renew(self, name: str, token: str, *, ttl: int = 30) -> Renewed:
        """For `ttl` seconds from before the call. Raises Problem where it is not yours any more."""
        return self._connection.post("/locks/renew", {"name": name, "token": token, "ttl": ttl})

    def release(self, name: str, token: str) -> None:
        """Let others take it. Raises Problem where it is not yours any more."""
        self._connection.post("/locks/release", {"name": name, "token": token})


class Counters(Resource):
    def list(self) -> Iterator[Counter]:
        """Return all, in the order of their names."""
        return self._connection.pages("/counters")

    def add(self, name: str, by: int = 1, *, key: str | None = None) -> Counter:
        """Add `by`, once for each `key`: give your own, if your program may repeat the call after a crash."""
        return self._connection.post("/counters", {"name": name, "by": by}, key=key)

    def read(self, name: str) -> Counter:
        return self._connection.get(f"/counters/{name}")

    def delete(self, name: str) -> None:
        """It begins at 0 again when something is added."""
        self._connection.change("DELETE", f"/counters/{name}")
