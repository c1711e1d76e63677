"""Pages and API of inbound addresses: the same form, secrets that are never shown again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.http import Http404
from django.utils import timezone

from events.inbound import addresses
from events.inbound.addresses import InboundForm
from events.models import Event, InboundAddress
from people.models import User
from tests.db.api.conftest import Api
from tests.db.events.test_inbound import ORDER, post
from tests.make import make_user, signed_in
from tests.unit.events.test_schemes import STANDARD, github


def token_of(address: InboundAddress) -> str:
    return addresses.url(address).rpartition("/")[2]


def test_an_address_is_made_used_and_looked_at_in_the_browser(ada: User) -> None:
    client = signed_in(ada)
    made = client.post(
        "/inbound/new", {"label": "Shop", "scheme": "github", "secret": "s3cret-of-16-bytes", "enabled": "on"}
    )
    address = InboundAddress.objects.get(user=ada)
    assert made["Location"] == f"/inbound/{address.id}"
    body = json.dumps(ORDER).encode()
    assert post(body, github("s3cret-of-16-bytes", body, timezone.now()), token=token_of(address)).status_code == 202
    page = client.get(made["Location"]).content.decode()
    assert addresses.url(address) in page
    assert "s3cret-of-16-bytes" not in page + client.get(f"/inbound/{address.id}/edit").content.decode()
    replayed = client.post(f"/inbound/requests/{address.requests.get().id}/replay")
    assert replayed["Location"] == f"/events/{Event.objects.latest('id').key}"
    assert Event.objects.count() == 2


def test_a_change_keeps_the_secret_and_another_scheme_asks_for_one(ada: User) -> None:
    client = signed_in(ada)
    client.post("/inbound/new", {"label": "Shop", "scheme": "github", "secret": "s3cret-of-16-bytes", "enabled": "on"})
    address = InboundAddress.objects.get()
    path = f"/inbound/{address.id}/edit"
    client.post(path, {"label": "Store", "scheme": "github", "secret": "", "event_type": "body.type", "enabled": "on"})
    address.refresh_from_db()
    assert (address.label, address.fields, address.secrets()["secret"]) == (
        "Store",
        {"type": "body.type"},
        "s3cret-of-16-bytes",
    )
    refused = client.post(path, {"label": "Store", "scheme": "stripe", "secret": ""})
    assert refused.status_code == 200
    address.refresh_from_db()
    assert address.scheme == "github"
    client.post(path, {"label": "Store", "scheme": "none", "secret": ""})
    address.refresh_from_db()
    assert (address.scheme, address.secrets()["secret"]) == ("none", "")


def test_the_preview_shows_the_event_and_stores_nothing(ada: User) -> None:
    client = signed_in(ada)
    client.post("/inbound/new", {"label": "Shop", "scheme": "none", "enabled": "on"})
    address = InboundAddress.objects.get()
    typed = {"label": "Shop", "scheme": "none", "event_type": "join('.', ['order', body.act])", "preview": "1"}
    page = client.post(f"/inbound/{address.id}/edit", typed | {"sample": '{"act": "sent"}'}).content.decode()
    assert "order.sent" in page
    page = client.post(f"/inbound/{address.id}/edit", typed | {"sample": "{"}).content.decode()
    assert "not JSON" in page
    address.refresh_from_db()
    assert (address.fields, Event.objects.count()) == ({}, 0)


def test_an_address_that_is_replaced_or_removed_takes_nothing(ada: User) -> None:
    client = signed_in(ada)
    client.post("/inbound/new", {"label": "Shop", "scheme": "none", "enabled": "on"})
    address = InboundAddress.objects.get()
    old = token_of(address)
    client.post(f"/inbound/{address.id}/replace")
    address.refresh_from_db()
    new = token_of(address)
    assert [post(ORDER, token=one).status_code for one in (old, new)] == [404, 202]
    client.post(f"/inbound/{address.id}/remove")
    assert (post(ORDER, token=new).status_code, Event.objects.count()) == (404, 1)


def test_a_change_beside_a_replaced_or_removed_address_does_not_bring_it_back(ada: User) -> None:
    signed_in(ada).post("/inbound/new", {"label": "Shop", "scheme": "none", "enabled": "on"})
    address, slow = InboundAddress.objects.get(), InboundAddress.objects.get()
    old = token_of(address)
    addresses.replace(address)
    form = InboundForm({"label": "Store", "scheme": "none", "enabled": "on"}, address=slow)
    assert form.is_valid()
    addresses.change(slow, form)
    assert [post(ORDER, token=one).status_code for one in (old, token_of(address))] == [404, 202]
    addresses.replace(address)
    assert address.label == "Store"
    InboundAddress.objects.all().delete()
    for late in (lambda: addresses.change(slow, form), lambda: addresses.replace(slow)):
        with pytest.raises(Http404):
            late()
    assert not InboundAddress.objects.exists()


BODIES: list[tuple[dict[str, Any], str]] = [
    ({"label": ""}, "label"),
    ({"label": "x" * 81}, "label"),
    ({"label": "Shop", "scheme": "github"}, "secret"),
    ({"label": "Shop", "secret": "s"}, "secret"),
    ({"label": "Shop", "scheme": "standard", "secret": "whsec_#"}, "secret"),
    ({"label": "Shop", "event": {"type": "body."}}, "event.type"),
    ({"label": "Shop", "event": {"data": "to_text(body)"}}, "event.data"),
    ({"label": "Shop", "scheme": "hmac", "secret": "x" * 16, "signature": {"header": "a b"}}, "signature.header"),
    ({"label": "Shop", "scheme": "github", "secret": "x" * 15}, "secret"),
    ({"label": "Shop", "scheme": "standard", "secret": "whsec_"}, "secret"),
    ({"label": "Shop", "scheme": "standard", "secret": "whsec_c2hvcnQ="}, "secret"),
]


@pytest.mark.parametrize(("body", "field"), BODIES)
def test_form_and_api_refuse_the_same_and_name_the_field(ada: User, body: dict[str, Any], field: str) -> None:
    refused = Api(ada).post("/inbound", body)
    assert refused.status_code == 422
    assert [one["field"] for one in refused.json()["errors"]] == [field]
    typed = {name: value for name, value in body.items() if not isinstance(value, dict)} | {"enabled": "on"}
    typed |= {f"event_{name}": value for name, value in body.get("event", {}).items()}
    typed |= {f"signature_{name}": value for name, value in body.get("signature", {}).items()}
    assert signed_in(ada).post("/inbound/new", {"scheme": "none"} | typed).status_code == 200
    assert not InboundAddress.objects.exists()


def test_the_api_makes_shows_changes_and_removes(ada: User) -> None:
    api = Api(ada)
    made = api.post("/inbound", {"label": "Shop", "scheme": "standard", "secret": STANDARD})
    assert made.status_code == 201
    assert made.json()["url"] == addresses.url(InboundAddress.objects.get())
    path = f"/inbound/{made.json()['id']}"
    assert "url" not in api.get(path).json()
    assert STANDARD not in made.content.decode()
    assert api("PUT", path, {"label": "Store", "scheme": "standard"}).json()["label"] == "Store"
    assert InboundAddress.objects.get().secrets()["secret"] == STANDARD
    assert api.get(f"{path}/requests").json() == {"items": [], "next": None}
    assert api("DELETE", path).status_code == 204
    assert api.get("/inbound").json() == {"items": [], "next": None}


def test_a_person_has_so_many_addresses_at_most(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "MOST", 1)
    api, _ = Api(ada), Api(make_user()).post("/inbound", {"label": "Theirs"})
    assert [api.post("/inbound", {"label": "Shop"}).status_code for _ in range(2)] == [201, 409]
