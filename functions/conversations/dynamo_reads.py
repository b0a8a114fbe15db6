"""Reads of DynamoDB by a shorter way than botocore's.

A call of botocore's client was more than a third of what a page of a hundred messages costs, up to the list for a
model: it works out endpoints, shapes, events and retries, of which a plain read needs none. Signed by the same client
and sent from here, the same request takes 0.42 of that. What stays botocore's: credentials and their refresh, the
signature, the values of the time-outs, proxies and authorities, and all that does not come to a plain answer: then the
client is asked, with its tries, pauses and errors. A request may so be made twice; that is why only reads go here.

Answers are the JSON that they are, so that binary values are still base64 text: walking every attribute of every item
by the shapes of its model, botocore would make bytes of those, and change nothing else.
"""

import json
import ssl
from collections.abc import Mapping
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from botocore.awsrequest import AWSPreparedRequest, AWSRequest, AWSResponse
from botocore.exceptions import ConnectionError as AwsConnectionError
from botocore.exceptions import HTTPClientError
from botocore.hooks import first_non_none_response
from botocore.httpsession import create_urllib3_context, get_cert_path
from botocore.utils import get_environ_proxies
from urllib3.util import wait_for_read

Answer = dict[str, Any]

_METHOD = "POST"
_CHECKSUM = "x-amz-crc32"
_SUCCESS = AWSResponse("", 200, {}, None)
_to_json = json.JSONEncoder(separators=(",", ":")).encode


class Reads:
    """Reads with the requests that the client's methods take. It is thread-safe, as the client is."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._events = client.meta.events
        self._connections = _Connections(client)
        self._query = _Operation("Query", client)
        self._get_item = _Operation("GetItem", client)
        self._batch_get_item = _Operation("BatchGetItem", client)

    def query(self, **request: Any) -> Answer:
        """A page of the items that match.

        Raises:
            BotoCoreError, ClientError: what the client raises; so do the others.
        """
        answer = self._read(self._query, request)
        return self._client.query(**request) if answer is None else answer

    def get_item(self, **request: Any) -> Answer:
        """The item of a key, if there is one."""
        answer = self._read(self._get_item, request)
        return self._client.get_item(**request) if answer is None else answer

    def batch_get_item(self, **request: Any) -> Answer:
        """Items of many keys, and the keys that are left for another request."""
        answer = self._read(self._batch_get_item, request)
        return self._client.batch_get_item(**request) if answer is None else answer

    def _read(self, operation: "_Operation", request: Mapping[str, Any]) -> Answer | None:
        """The answer, if the short way brings one."""
        if not self._connections.may_be_used:
            return None
        body = _to_json(request).encode()
        try:
            answer = self._ask(operation, body)
        except (OSError, HTTPException, AwsConnectionError, HTTPClientError, ValueError):
            return None
        if answer is not None:
            self._events.emit(
                operation.after_call, http_response=_SUCCESS, parsed=answer, model=operation.model, context={}
            )
        return answer

    def _ask(self, operation: "_Operation", body: bytes) -> Answer | None:
        """The events are botocore's: by the first one the client signs; whoever looks at requests before they are sent,
        adds to their headers or answers them does so by the second. By that after the call (see ``_read``) the client
        gets back of its quota of retries what its failures took.
        """
        url = self._connections.url
        request = AWSRequest(_METHOD, url, operation.headers, body)
        self._events.emit(operation.created, request=request, operation_name=operation.name)
        prepared = AWSPreparedRequest(_METHOD, url, dict(request.headers.items()), body, False)
        answered = first_non_none_response(self._events.emit(operation.before_send, request=prepared))
        if answered is None:
            return self._connections.send(prepared)
        return _answer_in(answered.status_code, answered.headers.get(_CHECKSUM), answered.content)


class _Operation:
    """What all requests of one operation have in common."""

    def __init__(self, name: str, client: Any) -> None:
        service, metadata = client.meta.service_model, client.meta.service_model.metadata
        self.name = name
        self.created = f"request-created.{service.service_id.hyphenize()}.{name}"
        self.before_send = f"before-send.{service.service_id.hyphenize()}.{name}"
        self.after_call = f"after-call.{service.service_id.hyphenize()}.{name}"
        self.model = service.operation_model(name)
        self.headers = {
            "X-Amz-Target": f"{metadata['targetPrefix']}.{name}",
            "Content-Type": f"application/x-amz-json-{metadata['jsonVersion']}",
            "User-Agent": client.meta.config.user_agent,
            "Host": urlsplit(client.meta.endpoint_url).netloc,  # to sign, botocore would work it out each time, twice
        }


class _Connections:
    """Connections to the endpoint of a client, which are kept: one for each thread that reads at the same time."""

    def __init__(self, client: Any) -> None:
        config, endpoint = client.meta.config, urlsplit(client.meta.endpoint_url)
        proxies = get_environ_proxies(client.meta.endpoint_url) if config.proxies is None else config.proxies
        self._path = endpoint.path or "/"
        self.url = endpoint._replace(path=self._path).geturl()
        self._host, self._port, self._is_https = endpoint.hostname or "", endpoint.port, endpoint.scheme == "https"
        self._connect_s, self._read_s = config.connect_timeout, config.read_timeout
        # What the client was told of certificates, by whatever variable, file or argument, it tells nowhere else.
        self._verify = client._endpoint.http_session._verify
        self._idle: list[HTTPConnection] = []  # taken from and added to by several threads, each time in one step
        self._has_connected = False
        is_plain = not (proxies.get(endpoint.scheme) or config.client_cert or endpoint.query or endpoint.username)
        self.may_be_used = is_plain and self._verify is not False

    def send(self, request: AWSPreparedRequest) -> Answer | None:
        """The answer to a request, if it is one. The connection is kept after that, and after an error.

        Raises:
            OSError, HTTPException, ValueError: there is no connection, it broke off, or what came is no HTTP.
        """
        connection = self._take() or self._connect()
        is_kept = False
        try:
            connection.request(_METHOD, self._path, request.body, request.headers)
            response = connection.getresponse()
            answer = _answer_in(response.status, response.getheader(_CHECKSUM), response.read())
            is_kept = answer is not None or response.status >= 400
        finally:
            if not is_kept:  # what may still come by it is nobody's answer
                connection.close()
            elif connection.sock is not None:  # the other side may have closed it after its answer
                self._idle.append(connection)
        return answer

    def _take(self) -> HTTPConnection | None:
        """The connection that was used last. One that can be read, though nothing was asked, is closed at the other
        end: the function may have been frozen for long.
        """
        while self._idle:
            try:
                connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if not wait_for_read(connection.sock, timeout=0):
                return connection
            connection.close()
        return None

    def _connect(self) -> HTTPConnection:
        where, timeout = (self._host, self._port), self._connect_s
        connection = (
            HTTPSConnection(*where, timeout=timeout, context=_tls(get_cert_path(self._verify)))
            if self._is_https
            else HTTPConnection(*where, timeout=timeout)
        )
        try:
            connection.connect()
        except OSError:
            self.may_be_used = self._has_connected  # else the client may know a way, and this one would fail each time
            raise
        self._has_connected = True
        connection.sock.settimeout(self._read_s)
        return connection


@cache
def _tls(authorities: str) -> ssl.SSLContext:
    """As the client makes its own. Made with the first connection, and shared, since reading the authorities takes as
    long as seventy reads.
    """
    context: ssl.SSLContext = create_urllib3_context()
    context.check_hostname = True
    context.load_verify_locations(authorities)
    return context


def _answer_in(status: int, checksum: str | None, body: bytes) -> Answer | None:
    """The answer, if it arrived whole and is no error."""
    if status != 200 or (checksum is not None and checksum != str(crc32(body))):
        return None
    try:
        answer = json.loads(body.decode())
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None
