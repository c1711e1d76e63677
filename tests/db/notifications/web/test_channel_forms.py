"""Each kind of channel, added in its form as a person does: what is kept, and what the pages show of it."""

from __future__ import annotations

import pytest
from django.test import Client

from notifications import providers
from notifications.models import Channel
from notifications.providers.base import Provider
from tests.unit.notifications.providers.test_contract import PROVIDERS, module_of

pytestmark = pytest.mark.django_db


OF_TEAMS = ("team", "on_call")
OF_PEOPLE = [provider for provider in PROVIDERS if provider.kind not in OF_TEAMS]


def test_every_kind_is_offered_with_its_own_form(browser: Client) -> None:
    page = browser.get("/channels/new/").content.decode()
    assert not [kind for kind in OF_TEAMS if f"/channels/new/{kind}/" in page]
    for provider in OF_PEOPLE:
        assert f"/channels/new/{provider.kind}/" in page
        form = browser.get(f"/channels/new/{provider.kind}/").content.decode()
        for field in provider.form.base_fields:
            assert (f'name="{field}"' in form) is (field != "everybody"), "which is for operators only"


@pytest.mark.parametrize("provider", OF_PEOPLE, ids=lambda provider: provider.kind)
def test_a_channel_is_made_and_no_page_shows_its_secrets(browser: Client, provider: Provider) -> None:
    data = {**module_of(provider).VALID[-1], "label": "Mine"}
    browser.post(f"/channels/new/{provider.kind}/", data)
    [channel] = Channel.objects.all()
    kept = channel.destination().secrets
    assert "planted" not in str(channel.address) + channel.sealed_secrets
    own = f"/channels/{channel.id}/"
    for path in ("/channels/", own, f"{own}change/", f"{own}remove/"):
        page = browser.get(path, follow=True).content.decode()
        assert channel.label in page
        for secret in ("planted", *kept.values()):
            # A path of "/" is in every page, and no secret.
            assert secret == "/" or secret not in page


@pytest.mark.parametrize("kind", ["email", "telegram", "discord", "slack", "ntfy", "apprise", "webhook"])
def test_an_error_stands_at_its_field_with_what_was_typed_and_no_channel_is_added(browser: Client, kind: str) -> None:
    data, field = module_of(providers.get(kind)).INVALID[-1]
    answer = browser.post(f"/channels/new/{kind}/", data | {"label": "Mine"})
    assert f'id="id_{field}_error"' in answer.content.decode()
    assert answer.context["details"][field].value() == data[field]
    assert answer.context["label"]["label"].value() == "Mine"
    assert not Channel.objects.exists()


def test_a_token_is_kept_when_another_field_is_wrong(browser: Client) -> None:
    typed = {"topic": "not a topic", "token": "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"}
    assert typed["token"] in browser.post("/channels/new/ntfy/", typed).content.decode()
