"""Pages in the frame of the admin that Django's views do not make."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

from common.texts.types import StrOrPromise


def page(
    request: HttpRequest, template: str, title: StrOrPromise, of: Any = None, status: int = 200, **context: Any
) -> TemplateResponse:
    """A page with this title; `of`: the admin of the model to whose list it leads back."""
    context |= admin.site.each_context(request) | {"title": title} | ({"opts": of.opts} if of else {})
    return TemplateResponse(request, template, context, status=status)
