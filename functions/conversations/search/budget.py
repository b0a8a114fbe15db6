"""How much work a request may ask for."""

from conversations.search.errors import illegal_argument

__all__ = ["Budget"]

_POSTINGS_PER_STEP = 50


class Budget:
    """The steps that a request may take, some microseconds each: far more than an honest one needs."""

    def __init__(self, steps: int = 400_000) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        """Refuse to go on when nothing is left."""
        self._left -= steps
        if self._left < 0:
            raise illegal_argument("the query takes too many steps on these documents")

    def spend_on_postings(self, postings: int) -> None:
        """Documents that are only counted or added up cost little."""
        self.spend(postings // _POSTINGS_PER_STEP)
