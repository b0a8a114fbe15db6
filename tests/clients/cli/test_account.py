"""The service of an account: found by the parameters of its stage, asked by AWS principals and by those with tokens."""

import pytest

from conversation_memory import Client
from conversation_memory.sigv4 import SigV4
from infra.local import environment
from tests.bed.stack import Stack
from tests.clients.cli.conftest import Ran, called

pytestmark = pytest.mark.stack


def test_a_stage_is_found_by_its_parameters(stack: Stack) -> None:
    def run(*arguments: str) -> Ran:
        return called(*arguments, AWS_ENDPOINT_URL=stack.endpoint_url)

    parameter = "/conversation-memory/mine/api-url"
    stack.client("ssm").put_parameter(Name=parameter, Value=stack.api_url, Type="String")
    found, unknown = run("status", "--stage", "mine", "--json"), run("list", "--stage", "unknown")
    elsewhere = run("list", "--stage", "mine", "--profile", "nobody")

    assert found.exit_code == 0, found.err
    [status] = found.documents
    assert (status["url"], status["stage"]) == (stack.api_url, "local")
    assert status["found"] == f"by the parameters of the stage mine in {environment.REGION}"
    assert (unknown.exit_code, unknown.out) == (3, "")
    assert "there is no parameter /conversation-memory/unknown/api-url" in unknown.err
    assert (elsewhere.exit_code, elsewhere.out) == (1, "")
    assert "The config profile (nobody) could not be found" in elsewhere.err


def test_an_aws_principal_acts_for_an_owner(stack: Stack) -> None:
    with Client(stack.api_url, identity=SigV4("ada", region=environment.REGION)) as hers:
        diary = hers.create_conversation(session_id="diary", name="Hers")

    def listed(owner: str) -> Ran:
        return called("list", "--sigv4", owner, "--json", "--local", str(stack.folder))

    assert listed("ada").documents == [diary]
    assert listed("bob").documents == []
    assert listed("ädä").err == "Error: An owner is named in a header: printable ASCII without spaces around it.\n"
