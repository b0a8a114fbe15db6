"""The deployed service describes itself, and the description can be had without an identity.

That all other tests on a deployed stack hold every answer to it is done by `Stack.http`.
"""

import httpx
import pytest

from api.openapi.document import document

pytestmark = pytest.mark.stack


def test_the_service_answers_with_its_document(http: httpx.Client) -> None:
    answer = http.get("/openapi.json")

    assert answer.headers["content-type"] == "application/json"
    assert answer.json() == document("none")
