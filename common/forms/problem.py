"""An error for a program: a problem document (RFC 9457)."""

from http import HTTPStatus

from django.http import JsonResponse


def problem(status: int, detail: str, code: str, **headers: str) -> JsonResponse:
    document = {"title": HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail}
    return JsonResponse(document, status=status, content_type="application/problem+json", headers=headers)
