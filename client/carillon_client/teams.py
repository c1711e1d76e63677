"""Teams: their members, and who is on call."""

from collections.abc import Iterator
from typing import Unpack

from carillon_client.connection import Resource
from carillon_client.documents import Override, OverrideFields, Team, TeamDetail


class Teams(Resource):
    """Accounts that people share."""

    def list(self) -> Iterator[Team]:
        """Those in which you are a member; for a token of a team, this team."""
        return self._connection.pages("/teams")

    def read(self, team_id: int) -> TeamDetail:
        """Return the members, who is on call now and next, and the changes of the order."""
        return self._connection.get(f"/teams/{team_id}")

    def create_override(self, team_id: int, *, key: str | None = None, **fields: Unpack[OverrideFields]) -> Override:
        """Have one member asked first for a while."""
        return self._connection.post(f"/teams/{team_id}/overrides", fields, key=key)

    def delete_override(self, team_id: int, override_id: str) -> None:
        """The order applies again."""
        self._connection.change("DELETE", f"/teams/{team_id}/overrides/{override_id}")
