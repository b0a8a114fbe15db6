"""What the processes of the local stack find in their environment, and what is refused before they start."""

import os
from pathlib import Path
from urllib.request import url2pathname

import pytest

from infra.local import environment, model_server, node, sockets
from infra.local.first_commands import first_commands, page
from infra.local.model_server import ModelServerError
from tests.local.make_run import run_to_its_end
from tests.local.openai_server import MODEL, openai_server

DEVELOPER = {
    "PATH": "/usr/bin",
    "HOME": "/home/ada",
    "AWS_PROFILE": "production",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL_SQS": "https://elsewhere.example",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "PIP_INDEX_URL": "https://pypi.example/simple",
    "HTTPS_PROXY": "http://proxy.example:3128",
    "NO_PROXY": "intranet.example",
    "PYTHONPATH": "/elsewhere",
}


def test_the_emulator_and_its_functions_get_a_short_list_and_fake_credentials() -> None:
    assert environment.for_emulator(DEVELOPER) == {
        "PATH": "/usr/bin",
        "HOME": "/home/ada",
        **environment.aws_settings(),
    }


def test_the_cdk_gets_what_pip_and_npm_need_and_nothing_of_an_account() -> None:
    given = environment.for_cdk(DEVELOPER, "http://127.0.0.1:4566")

    assert given["PIP_INDEX_URL"] == "https://pypi.example/simple"
    assert given["HTTPS_PROXY"] == "http://proxy.example:3128"
    assert given["NO_PROXY"] == "127.0.0.1,localhost,intranet.example"
    assert given["AWS_ENDPOINT_URL"] == given["AWS_ENDPOINT_URL_S3"] == "http://127.0.0.1:4566"
    assert given["AWS_CONFIG_FILE"] == given["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_SQS", "CDK_DEFAULT_ACCOUNT"} & set(given)


def test_a_process_of_ours_forgets_the_account() -> None:
    environ = dict(DEVELOPER)

    environment.forget_aws_settings(environ)

    assert {name: value for name, value in environ.items() if name.startswith("AWS_")} == environment.aws_settings()


def test_a_path_names_this_python_and_the_found_node_first() -> None:
    path = node.path_with(node.ROOT / "found", f"/usr/bin{os.pathsep}/bin").split(os.pathsep)

    assert path[1:] == [str(node.ROOT / "found"), "/usr/bin", "/bin"]
    assert path[0] == str(node._BIN)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_a_model_server_is_asked_for_its_first_model_when_none_is_named(suffix: str) -> None:
    with openai_server() as url:
        found = model_server.probe(url + suffix, None)

    assert found.model == MODEL
    assert found.variables["MINISTACK_BEDROCK_PROXY_URL"] == url


def test_a_model_that_the_server_does_not_have_is_named() -> None:
    with openai_server() as url, pytest.raises(ModelServerError, match=r"404.*no such model"):
        model_server.probe(url, "other")


@pytest.mark.parametrize("url", ["127.0.0.1:11434", "file:///etc/passwd"])
def test_a_model_server_has_an_http_address(url: str) -> None:
    with pytest.raises(ModelServerError, match="MODEL_URL must be an http address"):
        model_server.probe(url, "any")


def test_a_taken_port_is_named() -> None:
    with sockets.listening() as opened:
        port = sockets.port_of(opened)
        with pytest.raises(sockets.PortInUseError, match=f"port {port} on 127.0.0.1 is in use"):
            sockets.listening(port)


def test_the_first_commands_sign_in_when_tokens_are_needed() -> None:
    sign_in, *others = first_commands("http://127.0.0.1:8080", "make -s token USER=alice")

    assert sign_in == "TOKEN=$(make -s token USER=alice)"
    assert len(others) == 3
    assert all("authorization: Bearer $TOKEN" in command for command in others)


def test_without_a_running_stack_there_is_no_token(tmp_path: object) -> None:
    refused = run_to_its_end("token", USER="alice", LOCAL_DIR=tmp_path)

    assert refused.returncode != 0
    assert "no local stack runs" in refused.stderr


def test_deploying_into_this_machine_by_accident_is_refused() -> None:
    refused = run_to_its_end("not-local", environ={"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"})

    assert refused.returncode != 0
    assert "AWS_ENDPOINT_URL points at this machine" in refused.stderr


def test_the_page_that_is_shown_is_there_and_asks_this_service() -> None:
    file, _, query = page("http://127.0.0.1:8081").partition("?")

    assert Path(url2pathname(file.removeprefix("file://"))).read_text().startswith("<!doctype html>")
    assert query == "api=http://127.0.0.1:8081"
