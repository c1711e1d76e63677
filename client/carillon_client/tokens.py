"""Tokens for other programs, made with the scope `make-tokens`."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from carillon_client.connection import Resource
from carillon_client.documents import NewToken, Token
from carillon_client.schedules import instant


class Tokens(Resource):
    def list(self) -> Iterator[Token]:
        """Those that are not revoked, newest first."""
        return self._connection.pages("/me/tokens")

    def read(self, token_id: str) -> Token:
        return self._connection.get(f"/me/tokens/{token_id}")

    def create(
        self, label: str, scopes: Sequence[str], *, expires_at: datetime | None = None, key: str | None = None
    ) -> NewToken:
        """With rights of this token, and until its end at most. The secret is in `token`, and nowhere else."""
        body = {"label": label, "scopes": list(scopes), "expires_at": instant(expires_at) if expires_at else None}
        return self._connection.post("/me/tokens", body, key=key)

    def rotate(self, token_id: str, *, key: str | None = None) -> NewToken:
        """Replace the secret of one that this token has made. The one before is refused at once."""
        return self._connection.post(f"/me/tokens/{token_id}/rotate", key=key)

    def revoke(self, token_id: str) -> None:
        """For good, with those that it has made."""
        self._connection.change("DELETE", f"/me/tokens/{token_id}")
