"""Errors as problem documents (RFC 9457). Each says what is wrong, in which field, and what to do."""

import json
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpResponse

from api.protocol.answers import Show, shown, to_json
from api.protocol.fields import FormBody, Replacement
from api.protocol.words import MOST_ERRORS, UNKNOWN, FieldError as FieldError

CONTENT_TYPE = "application/problem+json"

CODES = {
    "announcement": "Only staff with the permission to add batches may tell others.",
    "bad-body": "The body could not be read to its end.",
    "bad-json": "The body is not JSON in UTF-8, or has a name twice, NUL, or too many levels.",
    "bad-key": "Idempotency-Key is not 1 to 255 printable ASCII characters.",
    "bad-match": "If-Match is not an ETag.",
    "bad-request": "The head of the request could not be read.",
    "busy": "Another change of yours is under way. Try again after Retry-After.",
    "bytes-a-day": "Your bytes of events of this UTC day are used up.",
    "changed": "It has changed since you read it. `current` is the document now.",
    "conflict": "It is not possible as things stand. `detail` says why.",
    "cursor-expired": "Changes behind this cursor are no longer stored. Read the lists afresh.",
    "damaged": "A row that the call needs cannot be read. An operator can correct it.",
    "encoded": "The body is compressed. Send it as it is.",
    "error": "It failed for a reason of the server's, which is in its log.",
    "events-a-day": "Your events of this UTC day are used up.",
    "events-a-minute": "Your events of this minute are used up.",
    "for-everybody": "Only staff with the permission may change what is for everybody.",
    "in-flight": "The same request, by its Idempotency-Key, is still under way.",
    "invalid": "A member of the body or a parameter is not valid. `errors` names each.",
    "key-reused": "The Idempotency-Key belongs to another request.",
    "locked": "Something else is changing the same. Nothing was changed; try again.",
    "method-not-allowed": "The path does not take this method. Allow names those that it takes.",
    "not-encrypted": "The request came without encryption, and a token must not.",
    "not-found": "It does not exist, or it is not yours.",
    "not-json": "The body is of another type than JSON in UTF-8.",
    "refused": "The request was refused for its head. `title` says why.",
    "request-timeout": "The request took too long to arrive.",
    "scope": "The token may not do this. `detail` names the scope.",
    "too-large": "The body, or the head, is too large.",
    "too-many-at-once": "Too many requests of yours are in work.",
    "too-many-checks": "Too many checks in a minute.",
    "too-many-messages": "A limit of messages or codes is reached.",
    "too-many-requests": "The token, or the address, has made too many requests in a minute.",
    "unauthorised": "The token is missing, unknown, expired or revoked.",
    "unavailable": "The server cannot answer now. Try again after Retry-After.",
}
"""Each `code` of a problem, and what it means; `/api/v1/docs` lists them."""


class Problem(Exception):
    """Raise it anywhere in an operation. `code` is for programs and stays the same; the texts are for people.

    `stored`: what the operation wrote stays also under an `Idempotency-Key`, such as a counted try.
    """

    def __init__(
        self,
        status: int,
        code: str,
        title: str,
        detail: str,
        errors: Iterable[FieldError] = (),
        headers: Mapping[str, str] | None = None,
        stored: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(title)
        self.status, self.code, self.title, self.detail = status, code, title, detail
        self.errors, self.headers, self.stored, self.more = list(errors), dict(headers or {}), stored, more

    def response(self) -> HttpResponse:
        document: dict[str, Any] = {
            "type": f"{settings.BASE_URL}/api/v1/docs#problem-{self.code}",
            "code": self.code,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.errors:
            document["errors"] = [
                {"field": error.field, "detail": error.detail} | ({"code": error.code} if error.code else {})
                for error in self.errors
            ]
        response = HttpResponse(
            json.dumps(document | self.more), status=self.status, content_type=CONTENT_TYPE, headers=self.headers
        )
        response.stored = self.stored  # type: ignore[attr-defined]
        return response


def invalid(*errors: FieldError, stored: bool = False) -> Problem:
    """The body or a parameter is wrong: each error names its field and the remedy."""
    shown = errors[:MOST_ERRORS]
    detail = "See errors." if shown == errors else f"See errors: the first {MOST_ERRORS} of {len(errors):,}."
    return Problem(422, "invalid", "Something in this request is not valid.", detail, shown, stored=stored)


FORM_NAMES = {"__all__": "", "channels": "channel_ids", "one_by_one": "in_order", "watches": "watch_ids"}
"""Fields of forms that have another name in bodies."""


def _called(name: str) -> str:
    return FORM_NAMES.get(name, name.removeprefix("drop_"))


def errors(form: BaseForm, called: Callable[[str], str] = _called) -> list[FieldError]:
    """The form's errors. `called` says what a field of the form is called in the body; a code may add which part."""
    return [
        FieldError(".".join(filter(None, (called(name), part))) or "(body)", message, code)
        for name, result in form.errors.as_data().items()
        for error in result
        for part, _, code in [(error.code or "").rpartition(".")]
        for message in error.messages
    ]


def require_valid(
    body: FormBody,
    *forms: BaseForm,
    called: Callable[[str], str] = _called,
    fields: BaseForm | None = None,
    check: Callable[[], object] | None = None,
    place: str = "",
) -> None:
    """Raises a 422 problem with all that is wrong: in the body, and what the forms refuse.

    `fields` is a form of the body's `fields`. `check` validates all, where that takes more. `place` stands before all
    paths.
    """
    named = dict.fromkeys(forms, called)
    if fields is not None:
        named = {fields: lambda name: f"fields.{_called(name)}".rstrip(".")} | named
    for form, called in named.items() if body.wrong else ():
        _refuse_wrong(form, called, body)
    if check is not None:
        check()
    body.refuse(*(error for form, called in named.items() for error in errors(form, called)))
    if body.wrong:
        raise invalid(*(replace(error, field=place + error.field) for error in body.wrong))


def _refuse_wrong(form: BaseForm, called: Callable[[str], str], body: FormBody) -> None:
    """Let the form refuse the fields that are wrong, so that it checks nothing that depends on them, as on a page."""
    for name, field in form.fields.items():
        if body.is_wrong(called(name)):
            form.fields[name] = refused = copy(field)
            refused.clean = _refuse  # type: ignore[assignment, method-assign]  # only of this copy


def _refuse(*_: object) -> None:
    raise ValidationError("")


def require_unchanged(body: Replacement, show: Show, row: Any) -> None:
    """Refuse members that are not fields of the body, unless they are as in the answer that shows the row."""
    if not (others := body.model_extra):
        return
    current = json.loads(to_json(shown(show, row)))
    body.refuse(
        *(
            FieldError(name, "This cannot be changed here. Leave it out, or send it as you have read it.", "read_only")
            if name in current
            else FieldError(name[:100], str(UNKNOWN), "extra_forbidden")
            for name, value in others.items()
            if name not in current or value != current[name]
        )
    )


def not_found() -> Problem:
    """Also for what belongs to somebody else."""
    return Problem(404, "not-found", "There is nothing here.", "It does not exist, or it is not yours.")


# Errors that arise outside of an operation: what is wrong, and what to do.
_OUTSIDE = {
    400: ("bad-request", "This request could not be read.", "Correct its headers and its address."),
    404: ("not-found", "The API has no such path.", "Choose one of those that /api/v1/docs lists."),
    405: ("method-not-allowed", "This path does not take this method.", "Use one of those in the Allow header."),
    408: ("request-timeout", "This request took too long to arrive.", "Send it again."),
    413: ("too-large", "This request is too large.", "Send less."),
    500: ("error", "This failed for a reason of ours.", "It is in the server's log."),
    503: ("unavailable", "The server cannot answer now.", "Try again."),
}


def of_status(status: int, detail: str = "", headers: Mapping[str, str] | None = None) -> Problem:
    """For an error that arose outside of an operation."""
    reason = HTTPStatus(status).phrase
    otherwise = ("refused", f"{reason}.", "Compare the request with /api/v1/docs.")
    code, title, remedy = _OUTSIDE.get(status, otherwise)
    return Problem(status, code, title, detail or remedy, headers=headers)


def too_many_checks(title: str, refusal: object) -> Problem:
    return Problem(429, "too-many-checks", title, str(refusal), headers={"Retry-After": "60"})


def conflict(detail: str, **more: Any) -> Problem:
    return Problem(409, "conflict", "This is not possible as things stand.", detail, **more)


def damaged_row(damage: object) -> Problem:
    """`damage`, as text, names the row that SQL damaged."""
    detail = f"{damage} An operator can correct it: see “Damaged rows” in docs/reliability.md."
    return Problem(409, "damaged", "A row that this needs is damaged.", detail)
