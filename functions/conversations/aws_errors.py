"""What AWS says, in the domain's words: one table from error code to what it means for a read and for a write."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as AwsConnectionError

from conversations.errors import AlreadyStoredError, BusyError, ContendedError, LostPinError

CONDITION_FAILED = "ConditionalCheckFailedException"
TRANSACTION_CANCELED = "TransactionCanceledException"
_REASON_CONDITION_FAILED = "ConditionalCheckFailed"
# Nothing was written, or (5xx) it is unknown whether: a new read tells.
_PASSING = frozenset(
    (
        "InternalServerError",
        "InternalFailure",
        "LimitExceededException",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestTimeout",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TransactionConflict",
        "TransactionConflictException",
        "TransactionInProgressException",
    )
)


@contextmanager
def reading() -> Iterator[None]:
    """Raises ``BusyError`` for what passes: botocore has retried it already."""
    try:
        yield
    except ClientError as error:
        if _is_passing(error):
            raise BusyError("The store is busy; try again.") from error
        raise
    except (AwsConnectionError, HTTPClientError) as error:
        raise BusyError("The store cannot be reached; try again.") from error


@contextmanager
def writing(puts: Sequence[str] = ()) -> Iterator[None]:
    """Raises a signal for what a new read and another try may mend.

    ``puts`` are the ids of the items that a transaction adds with its last actions, each on condition that it is new.
    """
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == TRANSACTION_CANCELED:
            _raise_for_reasons(error, puts)
        if code == CONDITION_FAILED:
            raise LostPinError from error
        if _is_passing(error):
            raise ContendedError from error
        raise
    except (AwsConnectionError, HTTPClientError) as error:
        raise ContendedError from error


def _is_passing(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return error.response["Error"]["Code"] in _PASSING or status >= 500


def _raise_for_reasons(error: ClientError, puts: Sequence[str]) -> None:
    reasons = [reason.get("Code", "None") for reason in error.response.get("CancellationReasons", ())]
    first_put = len(reasons) - len(puts)
    if _REASON_CONDITION_FAILED in reasons[:first_put]:
        raise LostPinError from error  # what the new items were made from has changed: they may become others
    for place, reason in enumerate(reasons):
        if reason == _REASON_CONDITION_FAILED and place >= first_put:
            raise AlreadyStoredError(puts[place - first_put]) from error
    if any(reason in _PASSING for reason in reasons):
        raise ContendedError from error
