"""Text that goes into XML."""

import re

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that no document of XML may hold, not even as a reference."""
