"""An uploaded JSON file of a person. The page of its preview sends it back, so that nothing is stored between."""

from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext as _

from common.parsing import strict_json
from common.parsing.budget import OverBudget
from common.parsing.pool import ParsingUnavailable, parsed

LARGEST = 4 * 1024 * 1024
"""Bytes of a file."""
MOST = 2_000
"""Entries of a file."""


class FileRefused(Exception):
    """The file as a whole cannot be taken; the message is for the person."""


def read(request: HttpRequest, no_file: str) -> tuple[str, Any]:
    """The uploaded file, or the one that the preview sends back, as text and value. Raises FileRefused.

    `no_file`: the refusal where there is none, or one whose name ends in something else than .json.
    """
    file = request.FILES.get("file")
    if "content" not in request.POST if file is None else not (file.name or "").lower().endswith(".json"):
        raise FileRefused(no_file)
    if file is not None and (file.size or 0) > LARGEST:
        raise FileRefused(_("This file is larger than 4 MB. Split it."))
    raw = request.POST["content"].encode() if file is None else file.read()
    try:
        value = parsed(strict_json.read, raw.removeprefix(b"\xef\xbb\xbf"), person=request.user.pk)
    except ParsingUnavailable:
        raise FileRefused(_("Other files are being read at the moment. Try again in a few seconds.")) from None
    except (strict_json.Bad, OverBudget) as problem:
        raise FileRefused(_("This is not a JSON file that can be read: %(problem)s") % {"problem": problem}) from None
    return raw.decode("utf-8-sig"), value
