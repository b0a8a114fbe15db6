"""Answers of the OpenSearch dialect as text."""

import tracemalloc

from api.opensearch.rendering import Shown, answer


def test_an_answer_that_is_far_too_large_is_refused_before_it_is_written() -> None:
    text = "x" * 1_000_000
    hits = [{"_source": {"input": text, "additional_info": [{"a": text}]}}] * 100
    tracemalloc.start()

    answered = answer({"hits": {"hits": hits}}, Shown())

    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answered["statusCode"] == 413
    assert peak_bytes < 1_000_000
