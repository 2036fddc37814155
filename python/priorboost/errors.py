"""The exceptions of priorboost that Python has no name for."""


class OracleError(RuntimeError):
    """The oracle, or the connection to it, failed."""


class PrivacyError(ValueError):
    """A rule of the label holder forbids the question."""
