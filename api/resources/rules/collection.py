"""List, create, read, change, switch, delete and restore rules."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from ninja import Router

from api.protocol import paging, versions
from api.protocol.access import ApiRequest, Bearer
from api.protocol.answers import answer
from api.protocol.problems import FieldError, invalid
from api.resources.rules import body as bodies
from api.resources.rules.body import RuleBody, RulePatch
from api.resources.rules.document import RuleDocument, document
from events.models import Rule
from events.rules import changes, words
from people.user_lock import lock_user

router = Router(tags=["rules"], auth=Bearer("events"))


@contextmanager
def _changing(request: ApiRequest, rule_id: UUID) -> Iterator[Rule]:
    """Lock the rule in a transaction, if it is at the version of `If-Match`. Raises problems 404 and 412."""
    with transaction.atomic():
        yield versions.locked(request, Rule.objects.for_user(request.auth.user), document, id=rule_id)


def _show(rule: Rule, status: int = 200, **headers: str) -> HttpResponse:
    return answer(document(rule), status, ETag=versions.etag(rule.version), **headers)


@router.get("", response=paging.Page[RuleDocument], summary="List rules")
def list_rules(request: ApiRequest, cursor: str | None = None, limit: paging.Limit = paging.SIZE) -> HttpResponse:
    """Newest first."""
    found = Rule.objects.for_user(request.auth.user).prefetch_related("channels")
    return paging.answer_page(found, request, cursor, limit, document)


@router.post("", response={201: RuleDocument}, summary="Create a rule")
def create_rule(request: ApiRequest, body: RuleBody) -> HttpResponse:
    """It rings for events from now on. Send an `Idempotency-Key`, so that a repeated request creates one."""
    with lock_user(request.auth.user):
        rule = changes.create(*bodies.described(body, request.auth.user))
    return _show(rule, 201, Location=reverse("api:read_rule", args=[rule.id]))


@router.get("/{uuid:rule_id}", response=RuleDocument, summary="Read a rule")
def read_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """`ETag` is its version: send it as `If-Match` with a change."""
    return _show(get_object_or_404(Rule.objects.for_user(request.auth.user), id=rule_id))


@router.put("/{uuid:rule_id}", response=RuleDocument, summary="Replace a rule")
def replace_rule(request: ApiRequest, rule_id: UUID, body: RuleBody) -> HttpResponse:
    """Fields that are not given get their defaults."""
    with _changing(request, rule_id) as rule:
        return _show(changes.change(*bodies.described(body, request.auth.user, rule)))


@router.patch("/{uuid:rule_id}", response=RuleDocument, summary="Change some fields of a rule")
def change_rule(request: ApiRequest, rule_id: UUID, body: RulePatch) -> HttpResponse:
    """Fields that are not given stay as they are."""
    with _changing(request, rule_id) as rule:
        return _show(changes.change(*bodies.described(body, request.auth.user, rule)))


@router.delete("/{uuid:rule_id}", response={204: None}, summary="Delete a rule")
def delete_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """Cancels what is not sent yet. What it did stays, and `restore` undoes it."""
    with _changing(request, rule_id) as rule:
        changes.delete(rule.id)
    return HttpResponse(status=204)


@router.post("/{uuid:rule_id}/restore", response=RuleDocument, summary="Restore a deleted rule")
def restore_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """Events that came while it was deleted do not ring."""
    with lock_user(request.auth.user):
        mine = Rule.objects.filter(user=request.auth.user, deleted_at__isnull=False)
        deleted = versions.locked(request, mine, document, id=rule_id)
        if changes.limit_reached(request.auth.user):
            raise invalid(FieldError("(body)", words.limit_reached(), "limit_reached"))
        return _show(changes.restore(deleted.id))


@router.post("/{uuid:rule_id}/enable", response=RuleDocument, summary="Switch a rule on")
def enable_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """Events that came while it was off do not ring."""
    with _changing(request, rule_id):
        return _show(changes.switch(rule_id, True))


@router.post("/{uuid:rule_id}/disable", response=RuleDocument, summary="Switch a rule off")
def disable_rule(request: ApiRequest, rule_id: UUID) -> HttpResponse:
    """It rings no more, and what it caused and is not sent yet is cancelled."""
    with _changing(request, rule_id):
        return _show(changes.switch(rule_id, False))
