"""A loopback server that answers chat completions as any OpenAI-compatible one."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ANSWER = "An answer of the model server."
MODEL = "tiny:1b"
UNANSWERED = "Say nothing."
"""The question that it answers with an error."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._send({"data": [{"id": MODEL}]} if self.path == "/v1/models" else None)

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = self.path == "/v1/chat/completions" and question["model"] == MODEL
        known = known and UNANSWERED not in str(question["messages"][-1]["content"])
        message = {"role": "assistant", "content": ANSWER}
        usage = {"prompt_tokens": 3, "completion_tokens": 6}
        self._send({"choices": [{"message": message}], "usage": usage} if known else None)

    def _send(self, answer: Any) -> None:
        body = json.dumps(answer or {"error": "no such model"}).encode()
        self.send_response(200 if answer else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silence."""


@contextmanager
def openai_server() -> Iterator[str]:
    """The address of a running one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(5)
