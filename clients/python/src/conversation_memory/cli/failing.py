"""What is said of an error that ends a command: one line that says what to do, and an exit code."""

from __future__ import annotations

from conversation_memory.cli.exits import NOT_ALLOWED, NOT_FOUND, USAGE, Failure
from conversation_memory.cli.finding import Target
from conversation_memory.errors import (
    ApiError,
    BadAnswerError,
    ConversationMemoryError,
    ForbiddenError,
    NoAnswerError,
    NotFoundError,
    UnauthorizedError,
)


def failure_of(error: Exception, target: Target | None) -> Failure:
    """What the command line says of it; ``target`` is the service that was asked, if one was."""
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return Failure(_refused(error, target), NOT_ALLOWED)
    if isinstance(error, NotFoundError):
        return Failure(str(error), NOT_FOUND)
    if isinstance(error, NoAnswerError | BadAnswerError) and target:
        return Failure(_and(error, target.if_silent or f"Is {target.url} its address?"))
    if isinstance(error, ConversationMemoryError):
        return Failure(str(error))
    return _of_python(error)


def _of_python(error: Exception) -> Failure:
    if isinstance(error, UnicodeEncodeError):
        return Failure("What is asked for is no Unicode text.", USAGE)
    if isinstance(error, OSError):
        return Failure(f"{error.filename or 'Output'}: {error.strerror or error}")
    return Failure(f"{type(error).__name__}: {error} (--debug shows where)")


def _refused(error: ApiError, target: Target | None) -> str:
    return _and(error, target.if_refused if target and isinstance(error, UnauthorizedError) else "")


def _and(error: Exception, hint: str) -> str:
    return f"{str(error).rstrip('.')}. {hint}".rstrip()
