"""Who calls, of what the gateway found."""

from typing import Any

import pytest

from api.errors import UnauthorizedError
from api.identity import Caller, identify, parse_groups
from conversations.errors import InvalidRequestError

NOBODY = ["", "*", "a\0b", "\ud800", "x" * 257, "\u00fc" * 129]


def _event(claims: dict[str, Any]) -> dict[str, Any]:
    return {"rawPath": "/conversations", "requestContext": {"authorizer": {"jwt": {"claims": claims}}}}


def _service_event(owner: str) -> dict[str, Any]:
    context = {"authorizer": {"iam": {"accountId": "1"}}}
    return {"rawPath": "/service/conversations", "requestContext": context, "headers": {"x-owner": owner}}


@pytest.mark.parametrize(
    ("claim", "groups"),
    [
        ("[a b]", {"a", "b"}),
        ("[]", set()),
        ("admin", {"admin"}),
        ("[staff,admin]", {"staff,admin"}),
        (["x admin", "b"], {"x admin", "b"}),
        ("", set()),
    ],
)
def test_groups_are_split_at_spaces_only(claim: object, groups: set[str]) -> None:
    assert parse_groups(claim) == groups


def test_a_group_whose_name_has_a_comma_makes_no_administrator() -> None:
    assert identify(_event({"sub": "eve", "cognito:groups": "[staff,admin]"}), "jwt") == Caller("eve")
    assert identify(_event({"sub": "ada", "cognito:groups": "[staff admin]"}), "jwt").is_administrator


@pytest.mark.parametrize("subject", [*NOBODY, None, 5])
def test_a_token_whose_subject_can_own_nothing_is_refused(subject: object) -> None:
    with pytest.raises(UnauthorizedError):
        identify(_event({"sub": subject}), "jwt")


@pytest.mark.parametrize("owner", NOBODY)
def test_a_service_cannot_act_for_nobody_or_everybody(owner: str) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        identify(_service_event(owner), "jwt")

    assert raised.value.field == "x-owner"


@pytest.mark.parametrize("owner", ["a", "x" * 256, "\u00fc" * 128, "**"])
def test_others_can_own(owner: str) -> None:
    assert identify(_service_event(owner), "jwt") == identify(_event({"sub": owner}), "jwt") == Caller(owner)
