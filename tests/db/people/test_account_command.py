"""`manage.py account`, for people who cannot sign in to download or delete their account."""

from __future__ import annotations

import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from people import teams
from people.account import deletion
from people.models import SecurityEvent, User
from tests.make import make_channel, make_user

pytestmark = pytest.mark.django_db


def account(*arguments: str) -> str:
    call_command("account", *arguments, stdout=(out := StringIO()))
    return out.getvalue()


def test_an_operator_writes_what_is_stored_about_somebody(tmp_path: Path) -> None:
    make_channel(make_user(email="ada@example.org"), label="Hers")
    make_channel(make_user(email="eve@example.org"), label="Another's")
    file = tmp_path / "ada.zip"
    assert "ada@example.org" in account("export", "Ada@example.org", str(file))
    assert file.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(file) as archive:
        stored = archive.read("notifications_channel.jsonl").decode()
    assert "Hers" in stored and "Another's" not in stored
    assert SecurityEvent.objects.get(type=SecurityEvent.Type.EXPORTED).user.email == "ada@example.org"
    for path in (file, tmp_path / "nowhere" / "ada.zip"):
        with pytest.raises(CommandError, match="cannot be written"):
            account("export", "ada@example.org", str(path))


def test_an_operator_deletes_an_account_that_is_switched_off() -> None:
    ada, boss = make_user(email="ada@example.org", is_active=False), make_user(email="boss@example.org")
    with pytest.raises(CommandError, match="say --yes"):
        account("delete", ada.email)
    account("delete", ada.email, "--yes")
    assert deletion.delete_requested() == 1
    assert list(User.objects.all()) == [boss]
    with pytest.raises(CommandError, match="Nobody signs in"):
        account("delete", ada.email, "--yes")


def test_neither_the_last_operator_nor_the_last_owner_of_a_team_is_deleted() -> None:
    boss, ada = make_user(email="boss@example.org", is_superuser=True), make_user(email="ada@example.org")
    teams.create(ada, "Family")
    with pytest.raises(CommandError, match="This is the account of the only operator"):
        account("delete", boss.email, "--yes")
    with pytest.raises(CommandError, match="owner"):
        account("delete", ada.email, "--yes")
    assert deletion.delete_requested() == 0
    assert User.objects.filter(is_active=True, is_team=False).count() == 2
