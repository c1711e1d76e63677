"""Parse a page as a browser without scripts does: text, links and forms with their values."""

from __future__ import annotations

from html.parser import HTMLParser

_VOID = frozenset(("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"))
_WITHOUT_TEXT = frozenset(("script", "style", "template", "svg"))


class Form:
    """`values`: what submitting would send. `offered`: the values of checkboxes, radio buttons and options."""

    def __init__(self, action: str, method: str) -> None:
        self.action = action
        self.method = method.lower()
        self.values: dict[str, list[str]] = {}
        self.offered: dict[str, list[str]] = {}
        self.buttons: list[tuple[str, str]] = []

    def fill(self, **written: str | list[str]) -> Form:
        """Set fields by name. Raises KeyError for an unknown field."""
        for name, value in written.items():
            if name not in self.values:
                raise KeyError(f"the form has no field “{name}”; it has {', '.join(self.values)}")
            self.values[name] = [value] if isinstance(value, str) else value
        return self


class Page(HTMLParser):
    """`forms` in order; `links`: pairs of text and address; `errors`: texts with an error class."""

    def __init__(self, address: str, html: str) -> None:
        super().__init__()
        self.address = address
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self._classes: list[tuple[str, str]] = []
        self._words: list[str] = []
        self._open: list[tuple[str, dict[str, str], int]] = []
        self.source = html
        self.feed(html)

    @property
    def text(self) -> str:
        return _joined(self._words)

    @property
    def errors(self) -> list[str]:
        return [text for classes, text in self._classes if "error" in classes]

    def form(self, having: str) -> Form:
        """The form that has a field of this name, or whose action ends so. Raises KeyError."""
        for form in self.forms:
            if having in form.values or form.action.endswith(having):
                return form
        raise KeyError(f"no form with “{having}” on {self.address}, which says: {self.text[:300]}")

    def link(self, words: str) -> str:
        """The address behind the first link with these words in it. Raises KeyError."""
        for text, address in self.links:
            if words in text:
                return address
        raise KeyError(f"no link “{words}” on {self.address}; there are: {', '.join(text for text, _ in self.links)}")

    def texts(self, class_: str) -> list[str]:
        """The texts of the elements of this class."""
        return [text for classes, text in self._classes if class_ in classes.split()]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        its = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(its.get("action") or self.address, its.get("method", "get")))
        elif tag == "input":
            self._input(its)
        elif tag == "button" and self._within("form"):
            self.forms[-1].buttons.append((its.get("name", ""), its.get("value", "")))
        elif tag == "option" and (select := self._within("select")):
            self._option(select["name"], its)
        elif tag in ("select", "textarea") and self._within("form") and its.get("name"):
            self.forms[-1].values[its["name"]] = []
        if tag not in _VOID:
            self._open.append((tag, its, len(self._words)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in (name for name, _, _ in self._open):
            return
        while self._open:
            name, its, since = self._open.pop()
            if name == "a" and "href" in its:
                self.links.append((_joined(self._words[since:]), its["href"]))
            if name == "textarea" and self._within("form") and its.get("name"):
                self.forms[-1].values[its["name"]] = ["".join(self._words[since:]).removeprefix("\n")]
            if its.get("class") and (said := _joined(self._words[since:])):
                self._classes.append((its["class"], said))
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if not any(name in _WITHOUT_TEXT for name, _, _ in self._open):
            self._words.append(data)

    def _within(self, tag: str) -> dict[str, str] | None:
        return next((its for name, its, _ in reversed(self._open) if name == tag), None)

    def _input(self, its: dict[str, str]) -> None:
        name, value = its.get("name", ""), its.get("value", "")
        if not name or self._within("form") is None or its.get("type") in ("submit", "image", "file"):
            return
        values = self.forms[-1].values.setdefault(name, [])
        if its.get("type") not in ("checkbox", "radio"):
            values.append(value)
            return
        value = its.get("value", "on")  # "on" without the attribute
        self.forms[-1].offered.setdefault(name, []).append(value)
        if "checked" in its:
            values.append(value)

    def _option(self, name: str, its: dict[str, str]) -> None:
        form, value = self.forms[-1], its.get("value", "")
        first = not form.offered.get(name)
        form.offered.setdefault(name, []).append(value)
        if "selected" in its or first:
            form.values[name] = [value]


def _joined(words: list[str]) -> str:
    return " ".join(" ".join(words).split())
