"""People's regular expressions, by RE2: linear time, bounded memory, no lookaround. Pure: no Django."""

from functools import lru_cache
from typing import Any

import re2

from common.parsing.expressions import Invalid, check_length
from common.texts.refusal import TEXTS, noop as _

# RE2 takes linear time and this much memory at most. Larger programs could need minutes for 2 MB.
_LARGEST_PROGRAM = 800
_OPTIONS = re2.Options()
_OPTIONS.max_mem = 1024 * 1024
_OPTIONS.log_errors = False
TEXTS.update(
    pattern_syntax=_("This is not a pattern of RE2 (github.com/google/re2/wiki/Syntax): %(said)s."),
    pattern_complex=_("This pattern is too complex. Make it shorter, with fewer repetitions."),
)


@lru_cache(maxsize=500)
def compiled(expression: str) -> Any:
    """Raises Invalid."""
    check_length(expression)
    try:
        pattern = re2.compile(expression, _OPTIONS)
    except re2.error as error:
        text = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else "?"
        raise Invalid("pattern_syntax", said=text) from None
    if pattern.programsize > _LARGEST_PROGRAM:
        raise Invalid("pattern_complex")
    return pattern
