"""The codes of events and of what follows from them, and their sentences. Pure."""

from django.utils.translation import gettext, gettext_lazy, gettext_noop as _

from work.reasons import FORMATS, Codes

OPERATORS = {
    "equals": gettext_lazy("is"),
    "differs": gettext_lazy("is not"),
    "above": gettext_lazy("is above"),
    "below": gettext_lazy("is below"),
    "contains": gettext_lazy("contains"),
    "exists": gettext_lazy("exists"),
}
"""Operators of a condition, with the words for people. `exists` needs no value."""

FORMATS["operator"] = lambda operator: str(OPERATORS[operator])
FORMATS["filled"] = lambda text: str(text) or gettext("(empty)")


class EventCode(Codes):
    # An event is not handled.
    TOO_MANY_HOPS = "too-many-hops", _("It is {hops} steps behind its first cause; a chain ends after {most}.")
    UNFIT = "unfit", _("Its data does not fit its type: {field}: {problem}")
    # A rule does nothing.
    UNMET = "unmet", _("{field} is {found:filled}; the rule asks that it {operator:operator} {value:filled}.")
    MISSING = "missing-field", _("The event has no field {field}.")
    THROTTLED = "throttled", _("The rule has rung {count} times within {seconds:duration}, which is its limit.")
    NO_CHANNEL = "no-channel", _("The rule has no channel to send to.")
    DAMAGED_RULE = "damaged-rule", _("The stored rule is damaged ({error}). Save it again.")
    TOO_COSTLY = (
        "too-costly",
        _(
            "Its condition on {field} was not checked: all conditions for one event together cost too much. "
            "Compare a single value instead of a list."
        ),
    )
    # A digest is not sent.
    RULE_DELETED = "rule-deleted", _("Its rule was deleted before the digest was due.")
    RULE_OFF = "rule-off", _("Its rule was switched off before the digest was due.")
    # A flow makes nothing of an event, or a run of it is stopped.
    FLOW_NO_KEY = "flow-no-key", _("The flow found no key for a run in it ({error}).")
    FLOW_NO_RUN = "flow-no-run", _("No run is open for {key}, and {type} does not begin one.")
    FLOW_RUN_STOPPED = "flow-run-stopped", _("The run was stopped before, and handles nothing.")
    FLOW_RUN_ENDED = "flow-run-ended", _("The run had ended before.")
    FLOW_WAIT_ENDED = "flow-wait-ended", _("The run does not wait for this time any more.")
    FLOW_NOT_INSTALLED = "flow-not-installed", _("The flow {flow} is not installed here, or its file has an error.")
    FLOW_OFF = "flow-off", _("The flow was switched off.")
    FLOW_FAULT = "flow-fault", _("The flow failed on {type} ({error}). Nothing of it was kept.")
    FLOW_TOO_LONG = "flow-too-long", _("The flow was ended after {seconds:duration} on {type}.")
    FLOW_TOO_MANY = "flow-too-many", _("The flow asked for {count} {what} at {type}; {most} are allowed.")
    FLOW_TOO_LARGE = "flow-too-large", _("{what} would take {size:bytes}; {most:bytes} are allowed.")
    FLOW_UNREADABLE = "flow-unreadable", _("{what} cannot be stored as JSON ({error}).")
    FLOW_BAD_TYPE = "flow-bad-type", _("The flow emitted an event of the type “{type}”, which nobody may emit.")
    FLOW_VERSION = "flow-version", _("Its state is of version {stored} of the flow; this is version {installed}.")
    FLOW_NO_STEP = "flow-no-step", _("The flow {flow} has no step {step} here.")
    FLOW_ENDED_BY = "flow-ended-by", _("Ended by {who}. {said}")
    STEP_FAILED = "step-failed", _("{said}")
    STEP_TOO_LONG = "step-too-long", _("It was ended after {seconds:duration}.")
    # A webhook that came in is refused, or becomes another event than its address asks for.
    UNSIGNED = "unsigned", _("It has no header {header}, which holds the signature.")
    WRONG_SIGNATURE = "wrong-signature", _("The signature in {header} is not that of this address' secret.")
    OLD_SIGNATURE = "old-signature", _("It was signed more than {seconds:duration} ago, or by a clock that is wrong.")
    UNREADABLE_BODY = "not-json", _("Its body cannot be read: {problem}")
    SWITCHED_OFF_ADDRESS = "switched-off-address", _("The address was switched off.")
    UNREADABLE_SECRET = "unreadable-secret", _("The secret of this address cannot be read. Enter it again.")
    NO_SECRET = (
        "no-secret",
        _("The address has no secret of at least {least} bytes to verify signatures with. Enter one."),
    )
    TOO_MANY_ALERTS = (
        "too-many-alerts",
        _("{left_out} of its alerts became no events: a request may have {most}. Send fewer at once."),
    )
    EVENTS_A_MINUTE = "events-a-minute", _("You may have {most} events a minute. Try again in the next minute.")
    EVENTS_A_DAY = (
        "events-a-day",
        _("You have had {used} of {most} events today (UTC). Try again tomorrow, or ask the operator."),
    )
    BYTES_A_DAY = (
        "bytes-a-day",
        _(
            "Your events and their messages have stored {used:bytes} of {most:bytes} today (UTC). Try again tomorrow, "
            "or ask the operator."
        ),
    )
    MALFORMED = "malformed", _("It was taken as any other webhook, though it says that it is a CloudEvent: {problem}")
    UNMAPPED = "unmapped", _("The expression for {field} was not used: {problem}")
    TOO_LARGE = "too-large", _("Its data is {size:bytes} long; an event takes {most:bytes}. It is kept here alone.")
