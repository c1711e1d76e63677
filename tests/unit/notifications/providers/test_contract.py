"""The contract of every provider. The test module of each one provides:

VALID, form data that make a channel; INVALID, form data with the name of the wrong field. If it posts over HTTP, also:

ANSWER: how its service answers. destination(origin, **changed): one at a server that answers so, right if unchanged.
SENT: the path, headers and document of `make_message()`. MEANINGS: a change of the destination, the reply (None: that
of ANSWER) and what it means. TEXT: texts that the service could take for markup. TEXTS: the fields of the document that
hold text. check_text(request, message): fails if it is not sent as typed. key_of(request): its key, if there is one.
read(request): its document, if it is not the JSON of its body. METHOD: that of the request, if it is not POST.

Every secret contains the word "planted".
"""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from demo.receivers import Received, Reply, Reset
from notifications import providers
from notifications.messages.change_types import STATUS
from notifications.messages.message import Delivered, Destination, Rejected
from notifications.providers.base import Provider
from notifications.reasons import DeliveryCode
from tests.network import closed_port, make_message, served, services_at
from work.answers import Ambiguous, Retryable
from work.reasons import Reason

PROVIDERS = providers.all()

REPLIES = [Reset(), *map(Reply, (200, 201, 302, 400, 404, 408, 418, 425, 429, 500, 503, 599, 799))]
REPLIES += [Reply(200, body=b""), Reply(400, body=b"[]"), Reply(404, body=b"\xff"), Reply(500, body=b"{")]


def module_of(provider: Provider) -> ModuleType:
    return import_module(f"tests.unit.notifications.providers.test_{provider.kind}")


def document_of(provider: Provider, request: Received) -> Any:
    return getattr(module_of(provider), "read", lambda request: json.loads(request.body))(request)


OVER_HTTP = [provider for provider in PROVIDERS if hasattr(module_of(provider), "destination")]

each_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.kind)
each_over_http = pytest.mark.parametrize("provider", OVER_HTTP, ids=lambda provider: provider.kind)


def cases(name: str) -> list[Any]:
    return [
        pytest.param(provider, case, id=f"{provider.kind}-{number}")
        for provider in PROVIDERS
        for number, case in enumerate(getattr(module_of(provider), name, []))
    ]


def worlds(provider: Provider) -> Iterator[Destination]:
    """Destinations, while the network and the service are in many different states."""
    module = module_of(provider)
    if provider not in OVER_HTTP:
        yield from module.worlds()
        return
    with served(module.ANSWER) as receiver:
        yield module.destination(receiver.origin)
        yield from (module.destination(receiver.origin, **changed) for changed, _, _ in module.MEANINGS if changed)
        for reply in REPLIES:
            receiver.answers.append(reply)
            yield module.destination(receiver.origin)
    for url in unreachable():
        with services_at(url):
            yield module.destination(url)


def unreachable() -> list[str]:
    return [f"http://127.0.0.1:{closed_port()}", "http://nowhere.invalid", "http://10.0.0.1"]


def strings_in(document: Any) -> set[str]:
    if isinstance(document, str):
        return {document}
    if isinstance(document, dict | list):
        values = document.values() if isinstance(document, dict) else document
        return {text for value in values for text in strings_in(value)}
    return set()


def test_every_module_is_found_and_the_nearest_providers_come_first() -> None:
    modules = {
        path.stem for path in Path(providers.__file__).parent.glob("*.py") if "\n    kind = " in path.read_text()
    }
    assert {provider.kind for provider in PROVIDERS} == modules
    assert [provider.kind for provider in PROVIDERS[:3]] == ["inbox", "web_push", "email"]


def test_an_unknown_kind_raises_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(providers.UnknownProvider, match="inbox, web_push, email"):
        providers.get("no-such-kind")


@each_provider
def test_a_provider_describes_itself(provider: Provider) -> None:
    assert providers.get(provider.kind) is provider
    assert provider.label
    icons = (Path(providers.__file__).parents[2] / "static" / "icons.svg").read_text()
    drawn = set(re.findall(r'<symbol id="([a-z_]+)"', icons))
    assert provider.kind in drawn
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
def test_the_error_at_a_wrong_field_says_what_is_right(provider: Provider, case: tuple[dict[str, str], str]) -> None:
    data, field = case
    form = provider.form(data)
    assert not form.is_valid()
    assert list(form.errors) == [field]
    for error in form.errors[field]:
        assert any(word in error for word in ("such as", "like", "Use", "use", "Leave", "at most", "from")), error
        assert "planted" not in error


@each_provider
def test_every_outcome_is_one_of_four_answers_without_a_secret(provider: Provider) -> None:
    tried = 0
    for destination in worlds(provider):
        answer = provider.send(make_message(), destination)
        assert isinstance(answer, Delivered | Retryable | Rejected | Ambiguous)
        for secret in ("planted", *destination.secrets.values()):
            assert secret == "/" or secret not in repr(answer).replace("planted-not", "")
        if not isinstance(answer, Delivered):
            assert answer.reason.code in set(DeliveryCode)
            assert "\n" not in str(answer.reason)
        tried += 1
    assert tried


@each_over_http
def test_a_message_has_the_documented_shape(provider: Provider) -> None:
    module = module_of(provider)
    with served(module.ANSWER) as receiver:
        assert isinstance(provider.send(make_message(), module.destination(receiver.origin)), Delivered)
    [request] = receiver.requests
    path, headers, document = module.SENT
    method = getattr(module, "METHOD", "POST")
    assert (request.method, request.path, document_of(provider, request)) == (method, path, document)
    assert {"Content-Type": "application/json", **headers}.items() <= request.headers.items()


@pytest.mark.parametrize(("provider", "case"), cases("MEANINGS"))
def test_each_answer_of_the_service_has_its_meaning(provider: Provider, case: Any) -> None:
    changed, reply, meaning = case
    with served(module_of(provider).ANSWER) as receiver:
        receiver.answer = reply or receiver.answer
        assert provider.send(make_message(), module_of(provider).destination(receiver.origin, **changed)) == meaning
    assert len(receiver.requests) == 1, "no redirect is followed, and nothing repeated"


@each_over_http
def test_no_text_changes_the_request_or_is_taken_for_markup(provider: Provider) -> None:
    module = module_of(provider)
    texts = strategies.text(max_size=200) | module.TEXT
    with served(module.ANSWER) as receiver:

        @hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
        @hypothesis.given(strategies.text(max_size=200), texts, strategies.text(max_size=40))
        def send(subject: str, body: str, recipient: str) -> None:
            receiver.requests.clear()
            message = make_message(subject=subject, body=body, recipient=recipient)
            provider.send(message, module.destination(receiver.origin))
            assert receiver.requests or not f"{subject}{body}".strip()
            for request in receiver.requests:
                assert request.path == module.SENT[0]
                sent, expected = document_of(provider, request), module.SENT[2]
                assert set(sent) <= set(expected)
                assert {name for name in expected if sent.get(name) != expected[name]} <= module.TEXTS
                module.check_text(request, message)

        send()


@each_over_http
def test_a_reset_leaves_the_outcome_unknown(provider: Provider) -> None:
    with served(module_of(provider).ANSWER) as receiver:
        receiver.answer = Reset()
        answer = provider.send(make_message(), module_of(provider).destination(receiver.origin))
    assert answer == Ambiguous(Reason(DeliveryCode.BROKEN, service="the receiver"))


@each_over_http
def test_an_unreachable_service_is_retried_and_a_private_address_rejected(provider: Provider) -> None:
    answers = []
    for url in unreachable():
        with services_at(url):
            answers.append(type(provider.send(make_message(), module_of(provider).destination(url))))
    assert answers == [Retryable, Retryable, Rejected]


@each_over_http
def test_a_preview_is_what_is_sent(provider: Provider) -> None:
    url = f"https://carillon.example/answer/{'0a' * 48}/"
    message = make_message(subject="*&_👨‍👩‍👧" * 300, body="<@>`👍🏽e\u0301" * 9_000, answer_url=url)
    with served(module_of(provider).ANSWER) as receiver:
        destination = module_of(provider).destination(receiver.origin)
        assert isinstance(provider.send(message, destination), Delivered)
        rendered = provider.render(message, destination)
    sent = strings_in(document_of(provider, receiver.requests[0]))
    assert rendered.body.text in sent
    assert rendered.subject.text in sent or provider.limits.joined


@each_provider
@pytest.mark.parametrize("address", [{}, {"url": "http://[", "address": "@"}, {"url": None, "address": 7}], ids=str)
def test_a_damaged_row_is_rejected(provider: Provider, address: dict[str, Any]) -> None:
    destination = Destination(address=address)
    assert isinstance(provider.summary(destination), str)
    answer = provider.send(make_message(), destination)
    assert isinstance(answer, Rejected) or not provider.form.base_fields, "no field, nothing to damage"


@each_over_http
def test_every_try_carries_the_same_key_if_the_service_takes_one(provider: Provider) -> None:
    module = module_of(provider)
    if not hasattr(module, "key_of"):
        assert not provider.recognises_repeats, "it has nothing to recognise one by"
        return
    with served(module.ANSWER) as receiver:
        receiver.answers.append(Reply(500))
        for _ in range(2):
            provider.send(make_message(), module.destination(receiver.origin))
        assert [module.key_of(request) for request in receiver.requests] == [str(make_message().key)] * 2


@each_provider
def test_text_keeps_the_limits_of_the_service(provider: Provider) -> None:
    limits = provider.limits
    assert limits.body is None or limits.body >= 1_000, "too short for the links that end a message"
    message = make_message(subject="*&_👨‍👩‍👧" * 300, body="<@>`👍🏽e\u0301" * 9_000)
    rendered = provider.render(message, Destination({}))
    assert (rendered.subject.text == "") == limits.joined
    pairs = [(rendered.body, limits.body), (rendered.subject, limits.subject)]
    for fitted, limit in pairs[: 1 if limits.joined else 2]:
        assert (fitted.length, fitted.limit) == (limits.measure(fitted.text), limit)
        assert fitted.cut == (limit is not None)
        assert limit is None or limit - 20 < fitted.length <= limit


@pytest.mark.parametrize("provider", [one for one in OVER_HTTP if one.kind != STATUS], ids=lambda one: one.kind)
def test_every_link_is_sent_with_the_one_that_stops_messages_last(provider: Provider) -> None:
    paths = [f"/{name}/{'0a' * 8}/" for name in ("answer", "history", "unsubscribe")]
    answer_url, open_url, unsubscribe_url = (f"https://carillon.example{path}" for path in paths)
    message = make_message(answer_url=answer_url, open_url=open_url, unsubscribe_url=unsubscribe_url)
    with served(module_of(provider).ANSWER) as receiver:
        provider.send(message, module_of(provider).destination(receiver.origin))
        sent = json.dumps(document_of(provider, receiver.requests[0]))
    assert 0 < sent.index(paths[0]) < sent.rindex(paths[2])
    assert sent.rindex(paths[0]) < sent.index(paths[2])


@each_provider
@pytest.mark.parametrize("link", ["answer_url", "unsubscribe_url"])
def test_a_link_is_never_cut(provider: Provider, link: str) -> None:
    url = f"https://carillon.example/answer/{'0a' * 48}/"
    for body in ("", "The ferns.", "x" * 40_000):
        rendered = provider.render(make_message(body=body, **{link: url}), Destination({})).body
        assert rendered.text.endswith(url) != provider.separate_answer_url
        assert rendered.limit is None or rendered.length <= rendered.limit


@each_provider
def test_rates_can_be_kept(provider: Provider) -> None:
    for rate in provider.rates:
        assert rate.amount >= 1
        assert rate.per_seconds > 0
        assert rate.name.startswith(provider.kind), "each service has its own count"
        form = provider.form(module_of(provider).VALID[0])
        assert form.is_valid()
        assert rate.scope != "host" or provider.host(provider.destination(form.cleaned_data))


@each_provider
def test_an_empty_message_gets_an_answer_too(provider: Provider) -> None:
    answer = provider.send(make_message(subject="", body=""), next(worlds(provider)))
    assert isinstance(answer, Delivered | Retryable | Rejected | Ambiguous)
