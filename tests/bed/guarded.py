"""A deployed stack in an account that enforces IAM.

Buckets and queues refuse who comes without TLS. The emulator has none here, so all calls pass a proxy that says they
were encrypted.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.local import environment, node
from infra.local.clients import client
from infra.local.deployment import Deployment
from infra.local.emulator import Emulator, EmulatorSettings
from tests.bed.forwarder import TlsEnd
from tests.bed.scripted_bedrock import ScriptedBedrock

TOOLS = Path(__file__).with_name("tools.json")


@dataclass(frozen=True)
class Guarded:
    """What a test may touch."""

    endpoint_url: str
    unencrypted_url: str
    outputs: Mapping[str, str]
    bedrock: ScriptedBedrock

    def http(self, **options: Any) -> httpx.Client:
        """A client of the API at a name of its own, as in AWS, since SigV4 signs it."""
        port = self.endpoint_url.rpartition(":")[2]
        host = f"{self.outputs['ApiId']}.execute-api.localhost:{port}"
        return httpx.Client(base_url=f"http://{host}", transport=_Loopback(), timeout=60, **options)

    def client(self, service: str) -> Any:
        """An SDK client of the account's root."""
        return client(service, self.endpoint_url)

    @property
    def service_routes(self) -> str:
        """What a service must be allowed to invoke, as the README says."""
        return f"arn:aws:execute-api:{environment.REGION}:{environment.ACCOUNT}:{self.outputs['ApiId']}/*/*/service/*"

    def user(self, name: str, statement: Mapping[str, str]) -> tuple[str, str]:
        """The keys of a new user who may do this."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]}
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return key["AccessKeyId"], key["SecretAccessKey"]

    def call_function(self, name: str, role: str, code: str, event: Any, **variables: str) -> Any:
        """What a function says that is made of this code and has this role."""
        self.make_function(name, role, code, variables)
        return self.invoke(name, event)

    def invoke(self, name: str, event: Any) -> Any:
        """What a function says."""
        answer = self.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
        return json.loads(answer["Payload"].read())

    def make_function(
        self,
        name: str,
        role: str,
        code: str,
        variables: Mapping[str, str] | None = None,
        folders: Iterable[Path] = (),
    ) -> None:
        """A function made of this code and these packages that has this role, in the place of one of that name."""
        functions = self.client("lambda")
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as written:
            written.writestr("handler.py", code)
            for folder in folders:
                for path in folder.rglob("*.py"):
                    written.write(path, path.relative_to(folder.parent))
        with suppress(functions.exceptions.ResourceNotFoundException):
            functions.delete_function(FunctionName=name)
        functions.create_function(
            FunctionName=name,
            Runtime="python3.13",
            Role=role,
            Handler="handler.lambda_handler",
            Code={"ZipFile": archive.getvalue()},
            Timeout=30,
            Environment={"Variables": dict(variables or {})},
        )


class _Loopback(httpx.HTTPTransport):
    """Connects to this machine whatever the name is, which stays in the `Host` header: not every resolver knows it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.headers["host"] = request.url.netloc.decode()
        request.url = request.url.copy_with(host="127.0.0.1")
        return super().handle_request(request)


@contextmanager
def guarded_stack(folder: Path) -> Iterator[Guarded]:
    """Deploy into a fresh emulator that enforces IAM."""
    with ScriptedBedrock() as bedrock, TlsEnd() as tls:
        variables = {
            "AUTH": "true",
            "AWS_ENDPOINT_URL": tls.url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
        }
        with Emulator(EmulatorSettings(folder=folder, variables=variables)) as emulator:
            tls.upstream = emulator.endpoint_url
            deployment = Deployment(
                endpoint_url=tls.url,
                folder=folder,
                context={"stage": "local", "auth": "none", "tools": str(TOOLS)},
                node_folder=node.prepare(),
            )
            deployment.bootstrap()
            outputs = deployment.deploy()
            yield Guarded(tls.url, emulator.endpoint_url, outputs, bedrock)
