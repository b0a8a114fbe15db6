"""For a Lambda function of one's own that answers messages itself: the turn's claim, history, progress and completion.

Such a function ships the folders ``conversations`` and ``turn`` beside its handler; Lambda's Python runtime has all
else that they need. It is invoked with the same descriptor as the turn function::

    claimed_turn = claiming(os.environ)

    def lambda_handler(event, context):
        with claimed_turn(event) as turn:
            if turn is None:
                return  # answered, cancelled or failed already
            for piece in pieces_of_an_answer(turn.history().prompt.messages):
                turn.say(piece)

What was said when the block ends is the answer, unless ``finish`` stored another or ``fail`` ended the turn. Whoever
follows the turn sees it grow. A turn that is cancelled meanwhile ends the block at the next call of ``turn``. What the
block raises is raised again once the turn is given back, so that Lambda's next attempt begins at once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from conversations import turns
from conversations.attempt import StoredAttempt
from conversations.clients import Clients
from conversations.clock import Clock, SystemClock
from conversations.content import check_content, is_blank
from conversations.errors import InvalidRequestError, ModelError, ServiceError, SupersededError
from conversations.history import History
from conversations.history_query import HistoryQuery
from conversations.model import Block
from conversations.recall import Recall, SearchedRecall
from conversations.said import Answer, Said
from conversations.settings import StoreSettings, require
from conversations.shapes import is_json
from conversations.sizes import check_size
from conversations.store import Store
from conversations.windows import Limits
from turn.descriptor import Descriptor, parse_descriptor

HISTORY_TOKENS = 100_000
LONGEST_ERROR = 1_000
"""How much of an error's message is kept, in characters."""
ClaimedTurns = Callable[[object], AbstractContextManager["ClaimedTurn | None"]]


class ClaimedTurn:
    """A turn that this invocation holds. Every call may raise ``SupersededError``, which ends the block quietly."""

    def __init__(self, attempt: StoredAttempt, descriptor: Descriptor) -> None:
        self.descriptor = descriptor
        self.has_ended = False
        self._attempt = attempt
        self._said = Said()
        self._said.begin_round()

    def history(self) -> History:
        """What a model would be sent: ``history().prompt`` has ``system`` and ``messages``, valid for Converse."""
        return self._attempt.history()

    def say(self, text: str) -> None:
        """Add to the answer, and keep the turn."""
        event = {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}}
        self._said.feed(event)
        self._attempt.follow(self._said, event)

    def keep(self) -> None:
        """Keep the turn; to be called every second or so while nothing is said, and every 25 seconds at least."""
        self._attempt.follow(self._said, None)

    def finish(
        self,
        content: Sequence[Block] | None = None,
        *,
        model_id: str = "",
        usage: Mapping[str, Any] | None = None,
        stop_reason: str | None = None,
    ) -> None:
        """Store the answer: what was said, or this content instead.

        Raises:
            InvalidRequestError: the content is none that a message may have, or the usage no counts.
            TooLargeError: no answer of the API could hold it.
            ModelError: nothing was said.
        """
        blocks = self._said.so_far if content is None else _checked(content)
        if is_blank(blocks):
            raise ModelError("Nothing was said.")
        _check_usage(usage or {})
        check_size(blocks)
        self._attempt.finish(Answer(blocks, model_id, usage=usage or {}, stop_reason=stop_reason))
        self.has_ended = True

    def fail(self, message: str, *, code: str = "Failed") -> None:
        """The turn has failed for good: callers see this code and message, and may ask again."""
        error = ServiceError(message[:LONGEST_ERROR])
        error.code = code
        self._attempt.fail(error, self._said)
        self.has_ended = True

    def give_back(self) -> None:
        """Let another attempt begin at once."""
        self._attempt.give_back()


def _checked(content: Sequence[Block]) -> Sequence[Block]:
    blocks = list(content)
    if not is_json(blocks):
        raise InvalidRequestError("content holds what is no JSON.", field="content")
    return check_content(blocks)


def _check_usage(usage: Mapping[str, Any]) -> None:
    for name, count in usage.items():
        if not isinstance(count, int) or count < 0:
            raise InvalidRequestError(f"usage.{name} must be a count.", field=f"usage.{name}")


def claiming(env: Mapping[str, str], clock: Clock | None = None) -> ClaimedTurns:
    """``claimed_turn`` for the deployment whose tables and bucket the environment names: ``MESSAGES_TABLE``,
    ``CONVERSATIONS_TABLE`` and ``BODIES_BUCKET``.

    Raises ``KeyError`` that names every variable which is missing.
    """
    clock = clock or SystemClock()
    settings = StoreSettings.from_values(require(env, *StoreSettings.NAMES))
    return claiming_from(Clients().store(settings, clock), clock)


def claiming_from(store: Store, clock: Clock) -> ClaimedTurns:
    """``claimed_turn`` over a store."""
    recall = SearchedRecall(clock)

    @contextmanager
    def claimed_turn(event: object) -> Iterator[ClaimedTurn | None]:
        """The turn of a descriptor; ``None`` if there is nothing to be done.

        Raises:
            InvalidRequestError: the event is malformed.
            NotFoundError: the conversation is not there for this owner, or the message was cleared.
            LeasedError, BusyError: Lambda is to deliver the event again.
        """
        turn = _claimed(store, clock, recall, parse_descriptor(event))
        if turn is None:
            yield None
            return
        try:
            yield turn
            if not turn.has_ended:
                turn.finish()
        except SupersededError:
            return
        except BaseException:
            turn.give_back()
            raise

    return claimed_turn


def _claimed(store: Store, clock: Clock, recall: Recall, descriptor: Descriptor) -> ClaimedTurn | None:
    question = turns.Question(descriptor.conversation_id, descriptor.current_message_id, descriptor.owner)
    try:
        claimed = turns.claim(store, clock, question)
    except SupersededError:
        return None
    query = HistoryQuery(
        current_message_id=descriptor.current_message_id,
        list_limit=descriptor.list_limit,
        window=descriptor.options.window,
        recall=descriptor.options.recall,
        system_prompt=descriptor.system_prompt or "",
        limits=Limits(HISTORY_TOKENS, descriptor.model_id or ""),
    )
    return ClaimedTurn(StoredAttempt(store, clock, question, query, claimed=claimed, recall=recall), descriptor)
