"""Run by a test in an interpreter that has nothing but the bundle: every client makes a call and parses the answer.

Requests are built and signed, and sent nowhere: botocore's ``before-send`` hook answers them.
"""

import io
import ssl
from collections.abc import Callable
from typing import Any

import botocore.session
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.exceptions import ClientError
from botocore.httpsession import get_cert_path

from conversations.dynamo_reads import Reads

CONFLICT = b"""{
    "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    "CancellationReasons": [{"Code": "TransactionConflict"}]
}"""


class Body(io.BytesIO):
    def stream(self, **_: object) -> list[bytes]:
        return [self.read()]


def client(service: str, *, status: int = 200, answer: bytes = b"") -> Any:
    made = botocore.session.get_session().create_client(service)
    made.meta.events.register("before-send", _answering(status, answer))
    return made


def _answering(status: int, body: bytes) -> Callable[..., AWSResponse]:
    def answer(request: AWSRequest, **_: object) -> AWSResponse:
        assert "AWS4-HMAC-SHA256" in str(request.headers["Authorization"])
        return AWSResponse(request.url, status, {"content-length": str(len(body))}, Body(body))

    return answer


def reads(answer: bytes) -> Reads:
    made = client("dynamodb", answer=answer)
    made.meta.events.register("provide-client-params", _refuse)
    return Reads(made)


def _refuse(**_: object) -> None:
    raise AssertionError("The client is not asked while reads work.")


KEY = {"id": {"S": "a"}}
PUT = {"Put": {"TableName": "t", "Item": KEY}}
HELLO = {"role": "user", "content": [{"text": "hello"}]}

assert client("dynamodb", answer=b'{"Item": {"id": {"S": "a"}}}').get_item(TableName="t", Key=KEY)["Item"] == KEY
assert reads(b'{"Items": [{"id": {"S": "a"}}]}').query(TableName="t") == {"Items": [KEY]}
assert ssl.create_default_context(cafile=get_cert_path(True)).get_ca_certs()
try:
    client("dynamodb", status=400, answer=CONFLICT).transact_write_items(TransactItems=[PUT])
except ClientError as error:
    assert error.response["CancellationReasons"] == [{"Code": "TransactionConflict"}]
assert client("s3", answer=b"text").get_object(Bucket="b", Key="k")["Body"].read() == b"text"
assert client("lambda", status=202).invoke(FunctionName="f", InvocationType="Event")["StatusCode"] == 202
assert client("sqs", answer=b'{"MessageId": "m"}').send_message(QueueUrl="https://q", MessageBody="b")["MessageId"]
assert "stream" in client("bedrock-runtime").converse_stream(modelId="m", messages=[HELLO])
print("worked")
