"""`Idempotency-Key`: the same POST sent again changes nothing and gets the same answer.

The answer is written in the transaction of the effect, so there is never one without the other. A refused request has
changed nothing and may be corrected under the same key; only a refusal that counts (`Problem.stored`) is stored, like a
success. An answer with a secret is stored encrypted.
"""

import hashlib
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse

from api.protocol.problems import Problem
from common.database import encryption, postgres
from people.models import ApiToken

HEADER = "Idempotency-Key"
# Operations that keep no answer: a repeated pull gets other messages, acknowledging or releasing twice does nothing,
# and a check asks another server, which takes too long for a transaction.
WITHOUT_KEY = frozenset(
    {
        "pull_messages",
        "settle_messages",
        "renew_lock",
        "release_lock",
        "check_connection",
        "check_job",
        "check_schedule",
    }
)

_KEY = re.compile("[ -~]{1,255}")
_STORED_HEADERS = ("Content-Type", "Location", "ETag")

_BEGIN = postgres.impatient("""
INSERT INTO api_storedanswer (user_id, key, fingerprint, status, headers, body, sealed)
VALUES (%(user)s, %(key)s, %(fingerprint)s, 0, '{}', '', false)
ON CONFLICT (user_id, key) DO UPDATE
   SET fingerprint = excluded.fingerprint, created_at = now()
 WHERE api_storedanswer.created_at < now() - interval '24 hours'
RETURNING id
""")
_KEEP = """
UPDATE api_storedanswer SET status = %(status)s, headers = %(headers)s, body = %(body)s, sealed = %(sealed)s
 WHERE user_id = %(user)s AND key = %(key)s
"""
_FIND = """
SELECT fingerprint, status, headers, body, sealed FROM api_storedanswer WHERE user_id = %(user)s AND key = %(key)s
"""
_FORGET = "DELETE FROM api_storedanswer WHERE created_at < now() - interval '24 hours'"


def once(token: ApiToken, key: str, request: HttpRequest, run: Callable[[], HttpResponse]) -> HttpResponse:
    """Run the operation and store its answer, or return the stored one. Raises problems 400, 409 and 422."""
    if not _KEY.fullmatch(key):
        raise Problem(400, "bad-key", "This Idempotency-Key is not valid.", "Send 1 to 255 printable ASCII characters.")
    # With the scopes, which `run` checks: a token of fewer gets no answer of another one's.
    requested = (
        f"{request.method} {request.get_full_path()} {request.headers.get('If-Match')!r} {sorted(token.scopes)}\n"
    )
    # A CloudEvent in binary mode has all but its data there.
    requested += "".join(
        f"{name}: {value}\n" for name, value in sorted(request.headers.items()) if name.startswith("Ce-")
    )
    fingerprint = hashlib.sha256(requested.encode() + request.body).hexdigest()
    values = {"user": token.user_id, "key": key, "fingerprint": fingerprint}
    with transaction.atomic():
        if not _begin(values):
            return _stored_answer(values)
        response = run()
        if response.status_code >= 300 and not getattr(response, "stored", False):
            transaction.set_rollback(True)
            return response
        headers = {name: response[name] for name in _STORED_HEADERS if name in response}
        body, sealed = response.content.decode(), getattr(response, "holds_secret", False)
        stored = {
            "status": response.status_code,
            "headers": json.dumps(headers),
            "body": encryption.seal(body) if sealed else body,
            "sealed": sealed,
        }
        postgres.execute(_KEEP, values | stored)
    return response


def transaction_of(request: HttpRequest) -> AbstractContextManager[None]:
    """For the writes of a POST: the transaction of `once`, which every refusal rolls back; without a key a new one."""
    return nullcontext() if HEADER in request.headers else transaction.atomic()


def forget() -> int:
    """Delete the answers that are older than a day."""
    return postgres.change(_FORGET, None)


def _begin(values: dict[str, Any]) -> bool:
    """Take the key; False where it has been used. Waits a second for the same request, if it is under way."""
    try:
        return postgres.execute(_BEGIN, values).fetchone().id is not None
    except Error as error:
        if not postgres.is_locked(error):
            raise
        raise Problem(
            409, "in-flight", "The same request is still under way.", "Try again.", headers={"Retry-After": "1"}
        ) from None


def _stored_answer(values: dict[str, Any]) -> HttpResponse:
    [answer] = postgres.query(_FIND, values)
    if answer.fingerprint != values["fingerprint"]:
        raise Problem(
            422, "key-reused", "This Idempotency-Key belongs to another request.", "Use a new key for a new request."
        )
    body = encryption.unseal(answer.body) if answer.sealed else answer.body
    response = HttpResponse(body, status=answer.status, headers=json.loads(answer.headers))
    response["Idempotency-Replayed"] = "true"
    return response
