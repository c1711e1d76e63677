"""The codes of events and of what follows from them, and their sentences. Pure."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from work.reasons import FORMATS, Codes

OPERATORS = {
    "equals": _("is"),
    "differs": _("is not"),
    "above": _("is above"),
    "below": _("is below"),
    "contains": _("contains"),
    "exists": _("exists"),
}
"""What a condition may say of its field, with the words for people. `exists` needs no value."""

FORMATS["operator"] = lambda operator: str(OPERATORS[operator])


class Code(Codes):
    """Its sentences have the names of its parameters."""

    # An event is not handled.
    TOO_MANY_HOPS = "too-many-hops", _("It is {hops} steps behind its first cause; a chain ends after {most}.")
    UNFIT = "unfit", _("Its data does not fit its type: {field}: {problem}")
    # A rule does nothing.
    UNMET = "unmet", _("{field} is {found}; the rule asks that it {operator:operator} {value}.")
    MISSING = "missing-field", _("The event has no field {field}.")
    THROTTLED = "throttled", _("The rule has rung {count} times within {seconds:duration}, which is its limit.")
    NO_CHANNEL = "no-channel", _("The rule has no channel to send to.")
    DAMAGED_RULE = "damaged-rule", _("What is stored of the rule is damaged ({error}). Save it again.")
    # A rule does something.
    NOTIFIED = "notified", _("It rang.")
    DIGESTED = "digested", _("It waits for the next digest.")
    # A digest is not sent.
    RULE_DELETED = "rule-deleted", _("Its rule was deleted before the digest was due.")
    RULE_OFF = "rule-off", _("Its rule was switched off before the digest was due.")
    # A webhook that came in is refused, or becomes another event than its address asks for.
    UNSIGNED = "unsigned", _("It has no header {header}, which holds the signature.")
    WRONG_SIGNATURE = "wrong-signature", _("The signature in {header} is not that of this address' secret.")
    OLD_SIGNATURE = "old-signature", _("It was signed more than {seconds:duration} ago, or by a clock that is wrong.")
    NOT_JSON = "not-json", _("Its body is not JSON that can be read: {problem}")
    SWITCHED_OFF_ADDRESS = "switched-off-address", _("The address was switched off.")
    UNREADABLE_SECRET = "unreadable-secret", _("The secret of this address cannot be read. Enter it again.")
    UNMAPPED = "unmapped", _("The expression for {field} was not used: {problem}")
    TOO_LARGE = "too-large", _("Its data is {size:bytes} long; an event takes {most:bytes}. It is kept here alone.")
