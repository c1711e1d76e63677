"""The codes of what jobs found and of why they failed, and their sentences. Pure. Each kind of job lists its own."""

from datetime import datetime, timedelta

from django.utils.translation import gettext_noop as _

from common.parsing.budget import OverBudget
from common.times import dates, durations
from work.reasons import FORMATS, FORMER, Codes

FORMATS["day"] = lambda instant: dates.full_day(datetime.fromisoformat(instant))
FORMATS["length"] = lambda seconds: durations.in_words(timedelta(seconds=seconds))
FORMATS["limit"] = lambda limit: str(OverBudget(*limit))
FORMER |= {
    "looks-of-person": "checks-of-person",
    "looks-of-worker": "checks-of-worker",
    "calendar-looked": "calendar-checked",
    "report-looked": "report-checked",
    "report-looked-at-all": "report-checked-for-all",
}


class JobCode(Codes):
    # It could not check.
    NO_KIND = "no-job-kind", _("There is no kind of job “{kind}”.")
    UNREADABLE_PAYLOAD = "unreadable-payload", _("Its stored question cannot be read: {problem}")
    NO_ADDRESS = "no-address", _("it has no address.")
    NO_CONNECTION = "no-connection", _("Its connection was removed. Choose another one.")
    NO_CONNECTION_KIND = "no-connection-kind", _("There is no kind of connection “{kind}”.")
    CONNECTION_DISABLED = "connection-disabled", _("Its connection “{label}” is disabled: {why}")
    CONNECTION_UNREADABLE = (
        "connection-unreadable",
        _("The secrets of its connection cannot be read. Enter them again."),
    )
    NOT_FOUND = "source-not-found", _("{service:service} has nothing at this address (HTTP {status}).")
    REFUSED = "source-refused", _("{service:service} refused the connection's secret (HTTP {status}). Enter it again.")
    OTHER_HOST = (
        "connection-of-other-host",
        _("The connection “{label}” is not for {host}. Choose another one, or none."),
    )
    ASKS_FOR_SECRET = (
        "source-asks-for-secret",
        _("{service:service} asks who you are (HTTP {status}). Use a connection."),
    )
    TOO_LARGE = "source-too-large", _("{service:service} answered more than {most:bytes}.")
    COMPRESSED = (
        "source-compressed",
        _("{service:service} answered in a compression that was not asked for ({encoding})."),
    )
    NO_CALENDAR = (
        "no-calendar",
        _("This address answers with something else than an iCalendar file. Check the address."),
    )
    MOVED_TOO_OFTEN = "source-moved", _("{service:service} redirects more than {most} times.")
    MOVED_NOWHERE = "source-moved-nowhere", _("{service:service} redirects to something that is not an address.")
    OVER_BUDGET = "over-budget", _("The source’s answer costs too much to read. {limit:limit}")
    PARSERS_BUSY = "parsers-busy", _("Much is being read at the moment; this one follows.")
    TOO_OFTEN = "checked-too-often", _("You checked {most} times within a minute, which is the limit. Wait a minute.")
    SILENT = "source-silent", _("It has brought nothing since {silent_since:day}.")
    KEPT_ANSWER = "kept-answer", _("(from an answer that was {age:length} old)")
    # What follows where it could not check.
    SENT_ANYWAY = "sent-anyway", _("The check failed, and it was sent anyway as you wished: {why}")
    # Nobody wants it any more.
    OTHER_QUESTION = "job-of-other-question", _("Its reminder was changed, and checks something else now.")
    # It waits for its turn.
    PERSON_BUSY = "checks-of-person", _("{amount} other checks of yours are under way; this one follows.")
    WORKER_BUSY = "checks-of-worker", _("Many checks of slow sources are under way; this one follows.")
    ASKED_ALREADY = "asked-already", _("Another check asks the same at the moment; its answer is used.")
    # A batch waits, or is not told.
    MORE_TO_TELL = "more-people", _("{told} of {size} people are told; the others follow.")
    OTHERS_FIRST = "batches-first", _("Other batches are being told to many people; this one follows.")
    NO_AUDIENCE = "no-audience", _("There is no audience of the kind “{audience}”.")
    NOT_STAFF = "announced-by-no-staff", _("Its owner may not make announcements any more.")
    CANCELLED_BATCH = "cancelled-batch", _("Its owner cancelled it before all of its people were told.")
    SWITCHED_OFF = "job-of-inactive", _("The account was switched off.")
