"""The codes of events and of what follows from them, and their sentences. Pure."""

from __future__ import annotations

from work.reasons import FORMATS, Codes

OPERATORS = {
    "equals": "is",
    "differs": "is not",
    "above": "is above",
    "below": "is below",
    "contains": "contains",
    "exists": "exists",
}
"""What a condition may say of its field, with the words for people. `exists` needs no value."""

FORMATS["operator"] = OPERATORS.__getitem__


class Code(Codes):
    """Its sentences have the names of its parameters."""

    # An event is not handled.
    TOO_MANY_HOPS = "too-many-hops", "It is {hops} steps behind its first cause; a chain ends after {most}."
    UNFIT = "unfit", "Its data does not fit its type: {field}: {problem}"
    # A rule does nothing.
    UNMET = "unmet", "{field} is {found}; the rule asks that it {operator:operator} {value}."
    MISSING = "missing-field", "The event has no field {field}."
    THROTTLED = "throttled", "The rule has rung {count} times within {seconds:duration}, which is its limit."
    NO_CHANNEL = "no-channel", "The rule has no channel to send to."
    DAMAGED_RULE = "damaged-rule", "What is stored of the rule is damaged ({error}). Save it again."
    # A rule does something.
    NOTIFIED = "notified", "It rang."
    DIGESTED = "digested", "It waits for the next digest."
    # A digest is not sent.
    RULE_DELETED = "rule-deleted", "Its rule was deleted before the digest was due."
    RULE_OFF = "rule-off", "Its rule was switched off before the digest was due."
    # A webhook that came in is refused, or becomes another event than its address asks for.
    UNSIGNED = "unsigned", "It has no header {header}, which holds the signature."
    WRONG_SIGNATURE = "wrong-signature", "The signature in {header} is not that of this address' secret."
    OLD_SIGNATURE = "old-signature", "It was signed more than {seconds:duration} ago, or by a clock that is wrong."
    NOT_JSON = "not-json", "Its body is not JSON that can be read: {problem}"
    SWITCHED_OFF_ADDRESS = "switched-off-address", "The address was switched off."
    UNREADABLE_SECRET = "unreadable-secret", "The secret of this address cannot be read. Enter it again."
    UNMAPPED = "unmapped", "The expression for {field} was not used: {problem}"
    TOO_LARGE = "too-large", "Its data is {size:bytes} long; an event takes {most:bytes}. It is kept here alone."
