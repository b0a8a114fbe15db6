"""Lets a model server (`MODEL_URL=`) that gives no answer fail the request, as Bedrock does when a model fails.

MiniStack (1.5.33) would answer with its stand-in's text instead, which then stood in the conversation as the model's.
"""

from collections.abc import Callable
from typing import Any

from ministack.services import bedrock_runtime as bedrock

Answer = tuple[int, dict[str, str], Any]


class _NoAnswerError(Exception):
    """The model server gave none."""


def tell() -> None:
    """From here on this process's MiniStack tells it."""
    if bedrock._PROXY_URL:
        bedrock._proxy_openai_chat_message = _insisting(bedrock._proxy_openai_chat_message)
        bedrock._converse = _telling(bedrock._converse)
        bedrock._converse_stream = _telling(bedrock._converse_stream)


def _insisting(forward: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
    def insisting(*question: Any, **options: Any) -> tuple[Any, Any]:
        message, counts = forward(*question, **options)
        if message is None:
            raise _NoAnswerError
        return message, counts

    return insisting


def _telling(respond: Callable[..., Answer]) -> Callable[..., Answer]:
    def telling(*request: Any) -> Answer:
        try:
            return respond(*request)
        except _NoAnswerError:
            told = f"The model server at {bedrock._PROXY_URL} gave no answer."
            response: Answer = bedrock._error("ModelErrorException", told, 424)
            return response

    return telling
