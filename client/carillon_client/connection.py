"""Requests to one server with one token, repeated where that is safe."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, cast
from uuid import uuid4

import httpx

_TRIES = 5
_LONGEST_WAIT = 60.0  # seconds


class CarillonError(Exception):
    """A request had no success. Its text is one sentence for people."""


class Unreachable(CarillonError):
    """The server did not answer, or something else answered in its place."""


class LostError(Unreachable):
    """The request may have arrived."""


class Problem(CarillonError):
    """The server refused. `code` stays the same between versions; `errors` is a list of (field, detail)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = dict(document)
        self.status = int(document["status"])
        self.code = str(document["code"])
        self.title = str(document["title"])
        self.detail = str(document.get("detail", ""))
        self.errors = [(str(one["field"]), str(one["detail"])) for one in document.get("errors", [])]
        if self.errors:
            super().__init__(" ".join(f"{field}: {detail}" for field, detail in self.errors))
        else:
            super().__init__(f"{self.title} {self.detail}".strip())


class Connection:
    """`url` is the server's address; a token is made on its settings page. Not for several threads at once."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0, tries: int = _TRIES) -> None:
        if not (token and token.isascii() and token.isprintable()):
            raise ValueError("This is not a token. Copy the whole of it, without line breaks.")
        self.url = url.rstrip("/").removesuffix("/api/v1") + "/api/v1"
        self._tries = tries
        self._http = httpx.Client(timeout=timeout, headers={"Authorization": f"Bearer {token}"})

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Any:
        return self._send("GET", path, parameters=parameters)

    def pages(self, path: str, **parameters: Any) -> Iterator[Any]:
        """Each item of a list; its pages are read as they are needed."""
        while True:
            page = self.get(path, **parameters)
            yield from page["items"]
            if page["next"] is None:
                return
            parameters["cursor"] = page["next"]

    def post(self, path: str, body: Any = None, *, key: str | None = None, **parameters: Any) -> Any:
        """`key` is the `Idempotency-Key`: give your own, if your program may repeat the call after a crash."""
        headers = {"Idempotency-Key": key or uuid4().hex}
        return self._send("POST", path, body=body, headers=headers, parameters=parameters)

    def change(self, method: str, path: str, body: Any = None, version: int | str | None = None) -> Any:
        """PUT, PATCH or DELETE, only at this `version` if it is given."""
        headers = {} if version is None else {"If-Match": f'"{version}"'}
        return self._send(method, path, body=body, headers=headers)

    def _send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: Mapping[str, str] = {},
        parameters: Mapping[str, Any] = {},
    ) -> Any:
        # The first try may have made the change, and with it the version that the second one would name.
        repeatable = "If-Match" not in headers
        may_be_deleted = False
        for number in range(1, self._tries + 1):
            last = number == self._tries
            wait = 0.25 * 2**number
            try:
                response = self._try(method, path, body, headers, parameters)
            except LostError:
                if last or not repeatable:
                    raise
                may_be_deleted = method == "DELETE"
            else:
                if may_be_deleted and response.status_code == 404:
                    return None  # by an earlier try
                if last or not _may_repeat(response):
                    return _read(response)
                wait = _pause(response, wait)
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _try(
        self, method: str, path: str, body: Any, headers: Mapping[str, str], parameters: Mapping[str, Any]
    ) -> httpx.Response:
        """The answer, whatever it is. Raises Unreachable, and LostError where the request may have arrived."""
        given = {name: _text(value) for name, value in parameters.items() if value is not None}
        try:
            return self._http.request(method, self.url + path, json=body, headers=headers, params=given)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{self.url} is not an address ({error}).") from error
        except httpx.RequestError as error:
            raise LostError(f"{self.url} does not answer: {error or type(error).__name__}.") from error


class Resource:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pause(response: httpx.Response, wait: float) -> float:
    """Seconds until the next try: as the answer says, else `wait`."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_WAIT) if text.isdecimal() else wait


def _may_repeat(response: httpx.Response) -> bool:
    if response.status_code == 429:
        return "Retry-After" in response.headers  # without it, a limit of a day
    if response.status_code == 503:
        return True
    return response.status_code == 409 and "Retry-After" in response.headers


def _read(response: httpx.Response) -> Any:
    if response.status_code in (202, 204) and not response.content:
        return None
    content_type = response.headers.get("Content-Type", "").partition(";")[0]
    try:
        document = response.json()
    except ValueError:
        document = None
    if response.is_success and content_type == "application/json":
        return document
    if content_type == "application/problem+json" and isinstance(document, dict):
        raise Problem(cast(dict[str, Any], document))
    to = f", to {response.headers['Location']}" if response.has_redirect_location else ""
    raise Unreachable(f"{response.url} answered {response.status_code}{to}: this is not the API of Carillon.")
