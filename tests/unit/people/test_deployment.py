"""`manage.py check --deploy` names what a deployment lacks."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks


@pytest.mark.parametrize(("backend", "warns"), [("filebased", True), ("smtp", False)])
def test_a_deployment_without_a_mail_server_is_warned(settings: Any, backend: str, warns: bool) -> None:
    settings.EMAIL_BACKEND = f"django.core.mail.backends.{backend}.EmailBackend"
    found = {message.id for message in checks.run_checks(include_deployment_checks=True)}
    assert ("people.W001" in found) is warns
