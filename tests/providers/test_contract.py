"""What holds for every provider. Each one's test module brings the forms and the worlds to try it in:

VALID, form data that make a channel; INVALID, form data with the name of the field at fault; worlds(), destinations
each in another state of the world; keys_sent(message), the keys that two tries carry outside. The word "planted"
stands in every secret.
"""

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from notifications import providers
from notifications.message import Ambiguous, Delivered, Destination, Rejected, Retryable
from notifications.providers.base import Provider
from tests.providers.making import make_message

PROVIDERS = providers.all()


def module_of(provider: Provider) -> ModuleType:
    return import_module(f"tests.providers.test_{provider.kind}")


def cases(name: str) -> list[Any]:
    return [
        pytest.param(provider, case, id=f"{provider.kind}-{number}")
        for provider in PROVIDERS
        for number, case in enumerate(getattr(module_of(provider), name))
    ]


def test_every_module_is_found_and_people_see_the_nearest_first() -> None:
    folder = Path(providers.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "base"}
    assert {provider.kind for provider in PROVIDERS} == files
    assert [provider.kind for provider in PROVIDERS[:3]] == ["inbox", "email", "webhook"]


def test_an_unknown_kind_is_told_which_there_are() -> None:
    with pytest.raises(providers.UnknownProvider, match="inbox, email, webhook"):
        providers.get("no-such-kind")


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_a_provider_describes_itself(provider: Provider) -> None:
    assert providers.get(provider.kind) is provider
    assert provider.label
    icons = (Path(providers.__file__).parents[2] / "static" / "icons.svg").read_text()
    drawn = set(re.findall(r'<symbol id="([a-z]+)"', icons))
    assert {provider.kind, provider.icon} <= drawn, "some pages know the kind only"
    assert provider.policy.tries >= 1
    assert 0 < provider.deadline <= 60, "longer than the task's limits"
    assert isinstance(provider.recognises_repeats, bool)
    assert isinstance(provider.notice(), str)


@pytest.mark.parametrize(("provider", "data"), cases("VALID"))
def test_a_form_makes_a_destination_that_keeps_its_secrets(provider: Provider, data: dict[str, str]) -> None:
    form = provider.form(data)
    assert form.is_valid(), form.errors
    destination = provider.destination(form.cleaned_data)
    assert "planted" not in repr(destination)
    assert "planted" not in provider.summary(destination)
    assert "\n" not in provider.summary(destination)
    assert provider.summary(destination)
    assert not provider.revealed or destination.secrets[provider.revealed]


@pytest.mark.parametrize(("provider", "case"), cases("INVALID"))
def test_a_wrong_field_is_told_what_would_be_right(provider: Provider, case: tuple[dict[str, str], str]) -> None:
    data, field = case
    form = provider.form(data)
    assert not form.is_valid()
    assert list(form.errors) == [field]
    for error in form.errors[field]:
        assert any(word in error for word in ("such as", "like", "Use", "Leave", "at most")), error
        assert "planted" not in error


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_whatever_the_world_does_the_answer_is_one_of_four_and_tells_no_secret(provider: Provider) -> None:
    tried = 0
    for destination in module_of(provider).worlds():
        answer = provider.send(make_message(), destination)
        assert isinstance(answer, Delivered | Retryable | Rejected | Ambiguous)
        for secret in ("planted", *destination.secrets.values()):
            assert secret not in repr(answer).replace("planted-not", "")
        if not isinstance(answer, Delivered):
            assert answer.reason.strip()
            assert "\n" not in answer.reason
        tried += 1
    assert tried


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
@pytest.mark.parametrize("address", [{}, {"url": "http://[", "address": "@"}, {"url": None, "address": 7}], ids=str)
def test_a_row_edited_by_hand_into_nonsense_is_rejected_in_words(provider: Provider, address: dict[str, Any]) -> None:
    destination = Destination(address=address)
    assert isinstance(provider.summary(destination), str)
    answer = provider.send(make_message(), destination)
    assert isinstance(answer, Rejected) or not provider.form.base_fields, "no field, nothing to damage"


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_every_try_carries_the_same_key_where_the_service_has_a_place_for_one(provider: Provider) -> None:
    message = make_message()
    keys = module_of(provider).keys_sent(message)
    if not keys:
        assert not provider.recognises_repeats, "by what would it recognise one?"
        return
    first, second = keys
    assert first == second
    assert str(message.key) in first


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_what_is_written_keeps_the_limits_of_the_service(provider: Provider) -> None:
    limits = provider.limits
    message = make_message(subject="*&_👨‍👩‍👧" * 300, body="<@>`👍🏽e\u0301" * 9_000)
    written = provider.written(message, Destination({}))
    assert (written.subject.text == "") == limits.joined
    for fitted, limit in [(written.body, limits.body), (written.subject, limits.subject)][: 1 if limits.joined else 2]:
        assert (fitted.length, fitted.limit) == (limits.measure(fitted.text), limit)
        assert fitted.cut == (limit is not None)
        assert limit is None or fitted.length <= limit


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_the_address_at_which_a_message_is_acknowledged_is_never_cut(provider: Provider) -> None:
    url = f"https://carillon.example/answer/{'0a' * 48}/"
    for body in ("", "The ferns.", "x" * 40_000):
        written = provider.written(make_message(body=body, answer_url=url), Destination({})).body
        assert written.text.endswith(url) != provider.answers_apart
        assert written.limit is None or written.length <= written.limit


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_rates_can_be_kept(provider: Provider) -> None:
    for rate in provider.rates:
        assert rate.amount >= 1
        assert rate.per_seconds > 0
        assert rate.name.startswith(provider.kind), "one service's count is no other's"
        form = provider.form(module_of(provider).VALID[0])
        assert form.is_valid()
        destination = provider.destination(form.cleaned_data)
        assert rate.scope != "host" or provider.host(destination)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
def test_an_empty_message_is_answered_too(provider: Provider) -> None:
    for destination in module_of(provider).worlds():
        answer = provider.send(make_message(subject="", body=""), destination)
        assert isinstance(answer, Delivered | Retryable | Rejected | Ambiguous)
        break
