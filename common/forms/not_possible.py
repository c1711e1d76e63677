"""What a person may not do as things stand."""


class NotPossible(Exception):
    """A limit, or something of the same name, is in the way. The message is for the person; the API answers 409."""
