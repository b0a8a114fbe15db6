"""What of an event may stand in a GraphQL document: names, types and selections, so that no event writes documents.

After the sections "Names", "Type References" and "Selection Sets" of the GraphQL specification. Of a selection only
fields are taken, which is what Amplify's generator writes: no arguments, aliases, fragments or directives.
"""

import re

from conversations.errors import InvalidRequestError

LONGEST_NAME = 255
LONGEST_SELECTION = 100_000
_NAME = r"[_A-Za-z][_0-9A-Za-z]*"
_TYPE = re.compile(rf"\[*{_NAME}!?(?:\]!?)*")
_MARK = re.compile(rf"[\s,]*({_NAME}|[{{}}])")


def check_name(text: object, field: str) -> str:
    """The text, if it is a name.

    Raises:
        InvalidRequestError: it is something else.
    """
    if isinstance(text, str) and len(text) <= LONGEST_NAME and re.fullmatch(_NAME, text):
        return text
    raise InvalidRequestError(f"{field} must be a GraphQL name.", field=field)


def check_type(text: object, field: str) -> str:
    """The text, if it refers to a type, as ``[String!]!`` does.

    Raises:
        InvalidRequestError: it is something else.
    """
    named = text if isinstance(text, str) and len(text) <= LONGEST_NAME else ""
    if _TYPE.fullmatch(named) and named.count("[") == named.count("]"):
        return named
    raise InvalidRequestError(f"{field} must refer to a GraphQL type.", field=field)


def check_selection(text: object, field: str) -> str:
    """The text with single spaces, if it selects fields and fields of fields. Empty text is taken: scalars have none.

    Raises:
        InvalidRequestError: it is something else.
    """
    if not isinstance(text, str) or len(text) > LONGEST_SELECTION:
        raise InvalidRequestError(f"{field} must be text of at most {LONGEST_SELECTION} characters.", field=field)
    marks = _marks(text)
    if marks is None or not _is_nested_well(marks):
        raise InvalidRequestError(f"{field} must be a GraphQL selection of fields alone.", field=field)
    return " ".join(marks)


def _marks(text: str) -> list[str] | None:
    """The names and braces of the text; ``None`` if it holds anything else."""
    marks, place, end = [], 0, len(text.rstrip(" \t\r\n,"))
    while place < end:
        found = _MARK.match(text, place)
        if found is None:
            return None
        marks.append(found[1])
        place = found.end()
    return marks


def _is_nested_well(marks: list[str]) -> bool:
    """Whether each brace opens after a field, holds one at least, and closes; none closes what is around the text."""
    depth, before = 0, "{"
    for mark in marks:
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0 or (before in "{}" and mark == "{") or (before == "{" and mark == "}"):
            return False
        before = mark
    return depth == 0
