"""`make run`: the service on this machine, with the same CDK app, the same functions and no AWS account.

It stays in the foreground. Ctrl-C, SIGTERM or closing the terminal save the state and end all that was started.
"""

import argparse
import os
import shlex
import socket
import sys
from pathlib import Path

from infra.local import environment, model_server, sockets, state
from infra.local.deployment import DeploymentError
from infra.local.emulator import EmulatorError
from infra.local.first_commands import first_commands, page
from infra.local.local_stack import LocalStack, LocalStackSettings, running
from infra.local.model_server import ModelServer, ModelServerError
from infra.local.node import ToolError
from infra.local.progress import say, step
from infra.local.signals import StopRequested, StopSignals

_FOLDER = Path(".local")
_FAILURES = (DeploymentError, EmulatorError, ModelServerError, ToolError, state.InUseError)


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    environment.forget_aws_settings(os.environ)
    with StopSignals() as signals:
        try:
            with state.sole_use(given.local_dir):
                _run(given, sockets.listening(given.port), signals)
        except StopRequested:
            say(f"stopped; the conversations are kept in {given.local_dir}")
            return 0
        except sockets.PortInUseError as error:
            say(f"{error}: is another `make run` there? Stop it, or choose another: make run PORT={error.port + 1}")
        except _FAILURES as error:
            say(str(error))
    return 1


def _run(given: argparse.Namespace, front: socket.socket, signals: StopSignals) -> None:
    """Bring it up, show it, and wait; whatever ends this, the stopping itself is not disturbed."""
    with front:
        model = _model(given)
        options = {"modelId": model.model if model else given.model or ""}
        settings = LocalStackSettings(
            folder=given.local_dir.resolve(),
            front=front,
            auth=given.auth,
            options={name: value for name, value in options.items() if value},
            variables=model.variables if model else {},
        )
        with running(settings) as stack:
            try:
                _show(stack, given)
                stack.emulator.wait()
            except StopRequested:
                say("\nstopping: work in hand may end, then the state is saved")
                raise
            finally:
                signals.hold()
            raise EmulatorError(f"the emulator ended by itself:\n{stack.emulator.log_tail()}")


def _model(given: argparse.Namespace) -> ModelServer | None:
    if not given.model_url:
        return None
    with step(f"the model server at {given.model_url} answers"):
        return model_server.probe(given.model_url, given.model or None)


def _show(stack: LocalStack, given: argparse.Namespace) -> None:
    sign_in = f"make -s token USER=alice LOCAL_DIR={shlex.quote(str(given.local_dir))}" if given.auth == "jwt" else None
    say(f"\nready: {stack.api_url}\n\nTry in another terminal:")
    for command in first_commands(stack.api_url, sign_in):
        say(f"  {command}")
    named = "" if given.local_dir == _FOLDER else f" --local {shlex.quote(str(given.local_dir))}"
    say(f"\nOr talk to it: pip install './clients/python[cli]', then conversation-memory chat{named}")
    say(f"\nOr in a browser: {page(stack.api_url)}")
    say("\nCtrl-C saves the conversations and stops.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8080, help="of the service (8080)")
    parser.add_argument(
        "--local-dir",
        type=Path,
        default=_FOLDER,
        help="where the state is kept (.local); with another port and folder several run side by side",
    )
    parser.add_argument(
        "--auth",
        choices=("none", "jwt"),
        default="none",
        help="none: everybody is the one owner (the default); jwt: tokens of the local user pool are needed",
    )
    parser.add_argument(
        "--model-url",
        default="",
        help="an OpenAI-compatible server that answers in place of the stand-in model",
    )
    parser.add_argument("--model", default="", help="the model's name (of a server: its first)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
