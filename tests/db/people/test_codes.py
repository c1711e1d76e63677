"""Verification codes: one a minute."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from people import codes
from people.models import Code
from tests.make import NINE


def test_a_code_is_replaced_after_a_minute_and_no_earlier() -> None:
    subject = uuid4()
    codes.renew(subject, NINE)
    nonce = Code.objects.get().nonce
    with pytest.raises(codes.TooSoon, match="Wait 30 s"):
        codes.renew(subject, NINE + timedelta(seconds=30))
    with pytest.raises(codes.TooSoon, match="Wait 1 s"):
        codes.renew(subject, NINE + codes.PAUSE - timedelta(milliseconds=100))
    assert Code.objects.get().nonce == nonce
    codes.renew(subject, NINE + codes.PAUSE)
    assert Code.objects.get().nonce != nonce
