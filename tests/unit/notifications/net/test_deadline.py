"""One deadline covers everything that a request does."""

import os
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from demo.receivers import Drip, Hang, HTTPReceiver
from notifications.net import deadline
from notifications.net.deadline import MAX_LOOKUPS, MAX_OF_PERSON
from notifications.net.http import NotSent, Unanswered
from notifications.reasons import DeliveryCode
from tests.network import DEADLINE, SLACK, post, took
from work.broker import load
from work.reasons import Reason


@pytest.mark.parametrize("answer", [Hang(), Drip("headers")])
def test_no_answer_within_the_deadline_is_unanswered(receiver: HTTPReceiver, answer: Hang | Drip) -> None:
    receiver.answer = answer

    def call() -> None:
        with pytest.raises(Unanswered, match=r"did not answer within 0\.4 seconds"):
            post(receiver.url, DEADLINE)

    assert DEADLINE <= took(call) < DEADLINE + SLACK


def test_a_slow_body_does_not_extend_the_deadline_and_the_status_counts(receiver: HTTPReceiver) -> None:
    receiver.answer = Drip("body", status=202)
    answers = []
    assert took(lambda: answers.append(post(receiver.url, DEADLINE))) < DEADLINE + SLACK
    assert answers[0].status == 202


def test_the_deadline_holds_in_threads(receiver: HTTPReceiver) -> None:
    receiver.answer = Drip("headers", pause=0.02)
    reasons: list[Reason] = []

    def call() -> None:
        try:
            post(receiver.url, DEADLINE)
        except Unanswered as failure:
            reasons.append(failure.reason)

    threads = [threading.Thread(target=call) for _ in range(8)]

    def all_of_them() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert took(all_of_them) < DEADLINE + 2 * SLACK
    assert len(reasons) == 8


def test_a_silent_name_server_does_not_extend_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    real = socket.getaddrinfo

    def look_up(host: str, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if not flags & socket.AI_NUMERICHOST:
            answered.wait(60)
        return real(host, *rest, flags=flags, **named)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    def call() -> None:
        with pytest.raises(NotSent, match="did not answer within"):
            post("http://hooks.example/", DEADLINE)

    assert took(call) < DEADLINE + SLACK
    answered.set()


def test_look_ups_that_hang_are_limited_and_a_forked_child_starts_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked = threading.Event(), []
    real = socket.getaddrinfo

    def look_up(host: str, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return real(host, *rest, flags=flags, **named)
        asked.append(host)
        answered.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    further = 5
    while further:  # on a busy machine, one in ten milliseconds may not start its look-up
        further -= len(asked) >= MAX_LOOKUPS
        with pytest.raises(NotSent, match="did not answer within"):
            post("http://hooks.example/", 0.01)
    assert len(asked) == MAX_LOOKUPS
    child = os.fork()
    if child == 0:
        answered = threading.Event()
        answered.set()
        ended = 1
        try:
            post("http://hooks.example/", 20.0)
        except NotSent as failure:
            ended = 0 if failure.reason.code == DeliveryCode.NAME else 2
        finally:
            os._exit(ended)
    assert os.waitpid(child, 0)[1] == 0
    answered.set()


def test_a_person_whose_names_hang_slows_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    answered, asked, real = threading.Event(), list[str](), socket.getaddrinfo

    def look_up(host: str, *rest: Any, flags: int = 0, **named: Any) -> Any:
        if flags & socket.AI_NUMERICHOST:
            return real(host, *rest, flags=flags, **named)
        asked.append(host)
        if host.endswith(".hangs.example"):
            answered.wait(60)
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    def call(person: int, host: str, seconds: float) -> DeliveryCode:
        with load.calling(person), pytest.raises(NotSent) as failure:
            post(f"http://{host}/", seconds)
        return DeliveryCode(failure.value.reason.code)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with ThreadPoolExecutor(60) as pool:
        hanging = [pool.submit(call, 1, f"{number}.hangs.example", 20.0) for number in range(50)]
        while len(asked) < MAX_OF_PERSON:
            time.sleep(0.01)
        # Each would be a timeout if it waited for the others.
        others = [pool.submit(call, person, "hooks.example", 10.0) for person in range(2, 42)]
        assert {other.result() for other in others} == {DeliveryCode.NAME}
        assert len([host for host in asked if host.endswith(".hangs.example")]) == MAX_OF_PERSON
        answered.set()
        assert {one.result() for one in hanging} <= {DeliveryCode.NAME, DeliveryCode.TIMEOUT}
    assert not deadline._lookups._of


def test_a_process_without_threads_frees_its_look_ups(
    monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]], receiver: HTTPReceiver
) -> None:
    names["hooks.example"] = ["127.0.0.1"]

    real = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name == "resolve":
            raise RuntimeError("can't start new thread")
        real(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(MAX_LOOKUPS + 1):
            with pytest.raises(NotSent):
                post(f"http://hooks.example:{receiver.port}/")
    assert post(f"http://hooks.example:{receiver.port}/").status == 200


def test_a_listener_that_never_accepts_is_not_sent_or_unanswered_in_time() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))

        def call() -> None:
            with pytest.raises(NotSent):
                post(f"http://127.0.0.1:{port}/", DEADLINE)

        assert took(call) < DEADLINE + SLACK
        for filler in fillers:
            filler.close()
