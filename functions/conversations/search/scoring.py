"""BM25 as Lucene computes it: `BM25Similarity` with k1 = 1.2 and b = 0.75, every step in single precision.

OpenSearch has used it since 3.0; before, `LegacyBM25Similarity` multiplied every score by k1 + 1.
"""

from collections.abc import Iterable
from math import log

from conversations.search.single_precision import FREQUENCY_BITS, MAX_SCORE, decoded_length, single

__all__ = ["Bm25", "inverse_document_frequency"]

_K1 = single(1.2)
_B = single(0.75)
_MAX_FREQUENCY = (1 << FREQUENCY_BITS) - 1


def inverse_document_frequency(documents_with_term: int, documents: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)), where N counts the documents that have the field."""
    return single(log(1 + (documents - documents_with_term + 0.5) / (documents_with_term + 0.5)))


class Bm25(dict[int, float]):
    """The score of a term or phrase by a posting's payload (encoded length and frequency), computed when first asked
    for."""

    def __init__(self, boost: float, idfs: Iterable[float], average_length: float) -> None:
        super().__init__()
        self._weight = min(single(boost * single(sum(idfs))), MAX_SCORE)
        self._average_length = single(average_length)
        self._inverses: dict[int, float] = {}

    def __missing__(self, payload: int) -> float:
        score = self[payload] = self.score(payload & _MAX_FREQUENCY, payload >> FREQUENCY_BITS)
        return score

    def score(self, frequency: float, encoded_length: int) -> float:
        """weight - weight / (1 + frequency / norm): Lucene's form of weight * frequency / (frequency + norm)."""
        scaled = single(1 + single(frequency * self._inverse_norm(encoded_length)))
        return single(self._weight - single(self._weight / scaled))

    def _inverse_norm(self, encoded_length: int) -> float:
        """1 / (k1 * (1 - b + b * length / average)), the length being the one that its byte still tells."""
        inverse = self._inverses.get(encoded_length)
        if inverse is None:
            share = single(single(_B * decoded_length(encoded_length)) / self._average_length)
            norm = single(_K1 * single(single(1 - _B) + share))
            inverse = self._inverses[encoded_length] = single(1 / norm)
        return inverse
