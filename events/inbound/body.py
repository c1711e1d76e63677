"""Read the body of a request as data: JSON, a form, or XML, in any usual charset. Pure.

XML becomes objects as usual: an element is its text, or an object of its children, with `@name` for attributes and
`#text` beside them; elements of one name are a list. Names lose their prefix.
"""

import codecs
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl
from xml.parsers import expat

from django.core.exceptions import SuspiciousOperation
from django.core.files.uploadhandler import MemoryFileUploadHandler
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.http import parse_header_parameters

from common.parsing import strict_json
from common.parsing.strict_json import Bad
from common.texts.refusal import TEXTS, noop as _

MOST_FIELDS = 1_000
MOST_ELEMENTS = 10_000
"""Elements and attributes of XML."""

# Others decode to something else than text, or in quadratic time.
_CHARSET = re.compile(
    r"ascii|utf-(8|16|32)(-le|-be)?|iso8859-\d{1,2}|cp125\d|koi8-[ru]|shift_jis|euc_(jp|kr)|gb2312|gbk|gb18030|big5"
)
TEXTS.update(
    body_bytes=_("Byte %(number)s is not valid %(charset)s."),
    body_charset=_("The charset %(name)s is not known. Send UTF-8."),
    form_fields=_("A form has at most %(most)s fields."),
    form_syntax=_("This is not a form that can be read. %(error)s"),
    form_empty=_("This form has no fields."),
    xml_elements=_("This XML has more than %(most)s elements and attributes."),
    xml_doctype=_("XML with a document type (DOCTYPE) is not read."),
    xml_syntax=_("This is not XML that can be read: %(error)s"),
)
_XML_CHARSET = re.compile(rb"<\?xml[^>]{1,100}?encoding=[\"']([A-Za-z0-9._-]{1,40})[\"']")


def text_of(headers: Mapping[str, str], body: bytes) -> str:
    """The body as text: by its byte order mark or NULs, by its Content-Type, by what it says itself. Raises Bad.

    What is valid UTF-8 is UTF-8, whatever it claims to be: hardly any text in another charset is. The bytes of a form's
    files become lone surrogates where they are not UTF-8.
    """
    charset = _charset(headers, body)
    if b"\0" not in body:
        with suppress(UnicodeDecodeError):
            return body.decode("utf-8-sig")
    if _content_type(headers)[0] == "multipart/form-data" and charset == "utf-8":
        return body.replace(b"\0", b"?").decode("utf-8", "surrogateescape")
    if charset == "iso8859-1":  # often said of Windows-1252, which has letters where that has control characters
        with suppress(UnicodeDecodeError):
            return body.decode("cp1252")
    try:
        return body.decode(charset).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Bad("body_bytes", number=str(error.start), charset=charset.upper()) from None


def _charset(headers: Mapping[str, str], body: bytes) -> str:
    charset: str = json.detect_encoding(body)
    if charset == "utf-8":
        declared = _XML_CHARSET.match(body)
        charset = _content_type(headers)[1].get("charset") or (declared[1].decode() if declared else charset)
    with suppress(LookupError, ValueError):
        name = codecs.lookup(charset.replace("-sig", "")).name
        if _CHARSET.fullmatch(name):
            return name
    raise Bad("body_charset", name=charset[:40].strip())


def read(headers: Mapping[str, str], text: str) -> Any:
    kind, parameters = _content_type(headers)
    if kind == "application/x-www-form-urlencoded":
        if text.lstrip().startswith(("{", "[")):  # as curl names what it posts, unless told otherwise
            with suppress(Bad):
                return strict_json.read(text.encode(), odd_numbers_as_text=True)
        return _form(text, parameters.get("charset", "cp1252"))
    if kind == "multipart/form-data":
        return _multipart(parameters, text)
    if kind in ("application/xml", "text/xml") or kind.endswith("+xml"):
        return _xml(text)
    return strict_json.read(text.encode(), odd_numbers_as_text=True)


def _content_type(headers: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    try:
        return parse_header_parameters(headers.get("content-type", ""))
    except ValueError:
        return "", {}


def _form(text: str, charset: str) -> Any:
    """`charset` is that of escapes such as %E4 that are not UTF-8."""
    if text.count("&") >= MOST_FIELDS:
        raise Bad("form_fields", most=MOST_FIELDS)
    for encoding in ("utf-8", charset):
        with suppress(UnicodeError, LookupError):
            return _fields(parse_qsl(text, keep_blank_values=True, encoding=encoding, errors="strict"))
    return _fields(parse_qsl(text, keep_blank_values=True, encoding="latin-1"))


def _multipart(parameters: Mapping[str, str], text: str) -> Any:
    """Of a file, its name, type and size."""
    body = text.encode("utf-8", "surrogateescape")
    meta = {
        "CONTENT_TYPE": f'multipart/form-data; boundary="{parameters.get("boundary", "")}"',
        "CONTENT_LENGTH": len(body),
    }
    try:
        fields, files = MultiPartParser(meta, BytesIO(body), [MemoryFileUploadHandler()], "utf-8").parse()
        if any("\ufffd" in value for _name, values in fields.lists() for value in values):
            raise ValueError("A field is not valid UTF-8.")
    except (MultiPartParserError, SuspiciousOperation, ValueError) as error:
        raise Bad("form_syntax", error=str(error)) from None
    pairs: list[tuple[str, Any]] = [(name, value) for name, values in fields.lists() for value in values]
    for name, sent in files.lists():
        pairs += [(name, {"name": one.name, "type": one.content_type, "bytes": one.size}) for one in sent]
    return _fields(pairs)


def _fields(pairs: Iterable[tuple[str, Any]]) -> Any:
    """The fields by name, several of one name as a list; where GitHub or Uptime Kuma posts JSON as a field, that."""
    fields: dict[str, Any] = {}
    for name, value in pairs:
        _add(fields, name, value)
    [only] = fields.values() if fields.keys() in ({"payload"}, {"data"}) else [""]
    if isinstance(only, str) and only.lstrip().startswith(("{", "[")):
        return strict_json.read(only.encode(), odd_numbers_as_text=True)
    if not fields:
        raise Bad("form_empty")
    return strict_json.check(fields)


def _add(fields: dict[str, Any], name: str, value: Any) -> None:
    if name not in fields:
        fields[name] = value
    elif isinstance(fields[name], list):
        fields[name].append(value)
    else:
        fields[name] = [fields[name], value]


def _xml(text: str) -> Any:
    """Without a document type, and so without entities: nothing grows, and nothing is fetched."""
    top: dict[str, Any] = {}
    stack: list[tuple[dict[str, Any], list[str]]] = [(top, [])]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1 + len(attributes)
        if count > MOST_ELEMENTS:
            raise Bad("xml_elements", most=MOST_ELEMENTS)
        if len(stack) > strict_json.DEEPEST:
            raise Bad("json_deep", most=strict_json.DEEPEST)
        element: dict[str, Any] = {}
        for key, value in attributes.items():
            short = f"@{_local(key)}"
            element[f"@{key}" if short in element else short] = value
        stack.append((element, []))

    def end(name: str) -> None:
        element, written = stack.pop()
        content = "".join(written).strip()
        if element and content:
            element["#text"] = content
        _add(stack[-1][0], _local(name), element or content)

    def refuse(*_arguments: Any) -> None:
        raise Bad("xml_doctype")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda content: stack[-1][1].append(content)
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.strip(), True)
    except expat.ExpatError as error:
        raise Bad("xml_syntax", error=str(error)) from None
    return strict_json.check(top)


def _local(name: str) -> str:
    return name.rpartition(":")[2]
