"""What the OpenSearch dialect takes of time and memory."""

import json
import subprocess
import sys
import tracemalloc

from api.opensearch.rendering import Shown, answer
from tests.unit.test_architecture import FUNCTIONS


def test_an_answer_that_is_far_too_large_is_refused_before_it_is_written() -> None:
    text = "x" * 1_000_000
    hits = [{"_source": {"input": text, "additional_info": [{"a": text}]}}] * 100
    tracemalloc.start()

    answered = answer({"hits": {"hits": hits}}, Shown())

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answered["statusCode"] == 413
    assert peak_bytes < 1_000_000


def test_the_search_engine_is_loaded_with_the_first_search() -> None:
    script = "import json, sys, api.opensearch.dialect; print(json.dumps(list(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", script], cwd=FUNCTIONS, capture_output=True, check=True, text=True)

    modules = json.loads(loaded.stdout)
    assert "api.opensearch.messages" in modules
    assert [name for name in modules if name.startswith("conversations.search")] == []
