"""Who the token belongs to, and the token itself."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from ninja import Router, Schema

from api.access import ApiRequest, Bearer
from api.fields import Instant

router = Router(tags=["me"], auth=Bearer("read"))


class TokenDocument(Schema):
    id: UUID
    label: str
    prefix: str
    scopes: list[str]
    created: Instant
    expires: Instant | None
    last_used: Instant | None


class Me(Schema):
    """`quiet_from` and `quiet_until` are times of day in `time_zone`."""

    id: int
    email: str
    name: str
    time_zone: str
    quiet_from: str | None
    quiet_until: str | None
    token: TokenDocument


@router.get("", response=Me, summary="Read the account and the token")
def read_account(request: ApiRequest) -> dict[str, Any]:
    """Also what the token may do, and when it expires."""
    person, token = request.auth.user, request.auth
    return {
        "id": person.pk,
        "email": person.email,
        "name": person.name,
        "time_zone": person.zone.key,
        "quiet_from": person.quiet_from and f"{person.quiet_from:%H:%M}",
        "quiet_until": person.quiet_until and f"{person.quiet_until:%H:%M}",
        "token": {
            "id": token.id,
            "label": token.label,
            "prefix": token.prefix,
            "scopes": token.scopes,
            "created": token.created_at,
            "expires": token.expires_at,
            "last_used": token.last_used_at,
        },
    }
