"""What can go wrong between the turn function and the AppSync API of an event.

The messages are for the user of the application; ``reason`` is for the log, and holds error types alone: what AppSync
says beside them may repeat what was sent.
"""

from conversations.errors import ServiceError


class GraphQLError(ServiceError):
    """The API refused a request: the same again gives the same."""

    code = "ApiRefused"

    def __init__(self, message: str, *, reason: str, details: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.details = details  # the API's own words, which are shown to nobody but a model that used a data tool


class TokenRefusedError(GraphQLError):
    """The API does not take the user's token, or not any more."""

    code = "Unauthorized"


class ApiUnavailableError(GraphQLError):
    """The API could not be reached, or said that it cannot answer, for as long as it was sensible to ask."""

    code = "ApiUnavailable"
