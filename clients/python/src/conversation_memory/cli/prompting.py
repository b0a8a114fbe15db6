"""Reading what a person types: lines of any length and script, edited, pasted, with several lines if wanted."""

from __future__ import annotations

from conversation_memory.errors import MissingExtraError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
except ImportError as error:
    raise MissingExtraError("cli", "prompt_toolkit") from error


class Prompt:
    """Asks for one message after the other; those before are found with the arrow keys."""

    def __init__(self) -> None:
        self._session: PromptSession[str] = PromptSession(
            "> ", multiline=True, prompt_continuation="  ", key_bindings=_keys()
        )

    def read(self) -> str | None:
        """What was typed; ``None`` if the person is done (Ctrl-D in an empty line, or Ctrl-C)."""
        try:
            return self._session.prompt()
        except (EOFError, KeyboardInterrupt):
            return None


def _keys() -> KeyBindings:
    """Enter sends, although several lines are possible: by Alt-Enter, and by pasting."""
    keys = KeyBindings()

    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def go_on(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys
