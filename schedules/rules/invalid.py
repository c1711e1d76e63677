"""Why a rule was refused."""


class InvalidRule(ValueError):
    """A rule that cannot be; the message says what is wrong and what would be right, with an example.

    `field` names the parameter at fault: a key of the rule's data, or one of "kind", "timezone", "starts", "ends".
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
