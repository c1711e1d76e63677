"""The front page, and a person's own settings."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from people.forms import SettingsForm
from people.requests import PersonRequest


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("schedules:list")
    return render(request, "people/home.html", {"sign_up": settings.SIGN_UP})


@login_required
def own_settings(request: PersonRequest) -> HttpResponse:
    form = SettingsForm(request.POST if request.method == "POST" else None, instance=request.user)
    if form.is_valid():
        form.save()
        messages.success(request, "Your settings are saved.")
        return redirect("people:settings")
    # A form that fails has already written to the instance what was typed; the page shows the person as stored.
    request.user.refresh_from_db()
    return render(request, "people/settings.html", {"form": form})
