"""Reading the model's stream in time: by a thread of its own, so that whoever waits for it can do other things, too."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event as Flag
from threading import Thread

from conversations.language_model import Event, Stoppable


@dataclass(frozen=True, slots=True)
class _End:
    """The last thing in the queue: the stream ended, by itself or by this error."""

    error: BaseException | None = None


def in_time(events: Iterable[Event], seconds_to_wait: Callable[[], float]) -> Generator[Event | None, None, None]:
    """The events of a stream, and ``None`` whenever nothing came for that many seconds.

    When it is closed before its end the stream is stopped, or else closed at its next event: the model is not paid for
    an answer that nobody waits for, and no thread goes on in the next invocation.
    """
    queue: SimpleQueue[Event | _End] = SimpleQueue()
    unwanted = Flag()
    Thread(target=_read, args=(events, queue, unwanted), name="model-stream", daemon=True).start()
    has_ended = False
    try:
        while True:
            try:
                event = queue.get(timeout=seconds_to_wait())
            except Empty:
                yield None
                continue
            if isinstance(event, _End):
                has_ended = True
                if event.error is not None:
                    raise event.error
                return
            yield event
    finally:
        unwanted.set()
        if not has_ended and isinstance(events, Stoppable):
            events.stop()


def _read(events: Iterable[Event], queue: "SimpleQueue[Event | _End]", unwanted: Flag) -> None:
    try:
        for event in events:
            if unwanted.is_set():
                break
            queue.put(event)
        if isinstance(events, Generator):
            events.close()
        queue.put(_End())
    except BaseException as error:
        queue.put(_End(error))
