from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from celery.utils.time import get_exponential_backoff_interval

from work.retry import QUICK, SLOW, next_wait, parse_retry_after, wait_when_busy

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_the_quick_policy_backs_off_as_celery_does_and_stops_after_five_tries() -> None:
    with patch("random.randrange", lambda end: end - 1):
        longest = [get_exponential_backoff_interval(60, retries, 480, full_jitter=True) for retries in range(4)]
    assert [next_wait(QUICK, tries, None, 1.0) for tries in range(1, 7)] == [*longest, None, None]
    assert [next_wait(QUICK, tries, None, 0.0) for tries in range(1, 5)] == [0.0] * 4


def test_the_slow_policy_has_its_own_waits() -> None:
    waits = [next_wait(SLOW, tries, None, 0.5) for tries in range(1, 8)]
    assert waits == [5, 300, 1800, 7200, 18000, 36000, None]


def test_what_was_released_waits_twice_as_long_each_time_up_to_a_limit() -> None:
    with patch("random.random", side_effect=[0.5] * 5 + [0.0, 0.75]):
        assert [wait_when_busy(1.0, 20.0, released) for released in (0, 1, 4, 5, 10_000)] == [1, 2, 16, 20, 20]
        assert [wait_when_busy(1.0, 20.0, 3) for _ in range(2)] == [4, 10]


def test_jitter_moves_a_wait_by_ten_per_cent_either_way() -> None:
    assert next_wait(SLOW, 2, None, 0.0) == pytest.approx(270)
    assert next_wait(SLOW, 2, None, 0.999999) == pytest.approx(330, rel=1e-4)


@pytest.mark.parametrize(
    ("retry_after", "jitter", "expected"),
    [
        (0.0, 0.5, 300),  # never shortens
        (-5.0, 0.5, 300),
        (299.0, 0.0, 299.0),  # jitter alone would have said 270
        (600.0, 0.0, 600.0),
        (600.0, 0.5, 630.0),  # later, never earlier
        (1e9, 0.9, 86400.0),
    ],
)
def test_retry_after_only_lengthens_a_wait_up_to_a_day(retry_after: float, jitter: float, expected: float) -> None:
    assert next_wait(SLOW, 2, retry_after, jitter) == pytest.approx(expected)


def test_retry_after_grants_no_further_try() -> None:
    assert next_wait(QUICK, 5, 60.0, 0.5) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 0 ", 0.0),
        ("0.65", 0.65),
        ("Fri, 20 Nov 2026 12:02:00 GMT", 120.0),
        ("Friday, 20-Nov-26 12:02:00 GMT", 120.0),
        ("Fri Nov 20 12:02:00 2026", 120.0),
        ("Fri, 20 Nov 2026 12:02:00 -0000", 120.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        (None, None),
        ("", None),
        ("-3", None),
        ("soon", None),
        ("1e9", None),
        ("٣", None),
        ("9" * 5000, None),
        ("Fri, 99 Nov 2026 12:02:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_a_date_is_measured_from_now() -> None:
    later = NOW + timedelta(minutes=1)
    assert parse_retry_after("Fri, 20 Nov 2026 12:02:00 GMT", later) == 60.0
