"""A browser that tests drive as people do, by mouse and keyboard: Chromium over its DevTools protocol, on two pipes."""

import fcntl
import json
import os
import select
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bed import chromium

_ANSWER_S = 30.0
_PATIENCE_S = 30.0
_POLL_S = 0.05
_OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",  # containers have no user namespaces for one; it sees this repository's own page only
    "--no-zygote",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-proxy-server",
)
# The program reads its commands from file 3 and writes answers to file 4.
_WITH_PIPES = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_KEYS = {"Enter": 13, "Escape": 27, "Tab": 9}
_SHIFT = 8


class BrowserError(Exception):
    """The browser refused a command, or does not answer."""


class Browser:
    """Commands go out one after the other; what else the browser tells meanwhile is kept for the page it is about."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._unread = b""
        self._last = 0
        self._events: dict[str, list[dict[str, Any]]] = {}

    def command(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """What the browser answers to a command of its protocol.

        Raises:
            BrowserError: it refuses, or does not answer in time.
        """
        self._last += 1
        sent = {"id": self._last, "method": method, "params": parameters}
        _write(self._commands, json.dumps(sent | ({"sessionId": session} if session else {})).encode() + b"\0")
        until = time.monotonic() + _ANSWER_S
        while True:
            told = self._next(until)
            if told.get("id") != self._last:
                self._events.setdefault(told.get("sessionId", ""), []).append(told)
            elif "error" in told:
                raise BrowserError(f"{method}: {told['error']['message']}")
            else:
                return told["result"]

    def forget_events(self, session: str) -> None:
        """From now on nothing has been told of a page."""
        self._events.pop(session, None)

    def events(self, session: str, method: str) -> list[dict[str, Any]]:
        """What has been told of a page by now."""
        return [told["params"] for told in self._events.get(session, ()) if told.get("method") == method]

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._answers], [], [], max(0, until - time.monotonic()))[0]:
                raise BrowserError("the browser does not answer")
            some = os.read(self._answers, 1 << 20)
            if not some:
                raise BrowserError("the browser has ended")
            self._unread += some
        message, _, self._unread = self._unread.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        return told


class Page:
    """A tab with a memory of its own, as that of somebody else's computer."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Log"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> Any:
        """As ``Browser.command``, for this page."""
        return self._browser.command(method, self._session, **parameters)

    @property
    def errors(self) -> list[str]:
        """What went wrong in the page's own script, and what its security policy has blocked."""
        thrown = self._browser.events(self._session, "Runtime.exceptionThrown")
        logged = [event["entry"] for event in self._browser.events(self._session, "Log.entryAdded")]
        return [event["exceptionDetails"].get("exception", {}).get("description", "?") for event in thrown] + [
            entry["text"] for entry in logged if entry["source"] == "security"
        ]

    def forget_errors(self) -> None:
        """Nothing went wrong until now."""
        self._browser.forget_events(self._session)

    def open(self, url: str) -> None:
        """Go there, and wait until it is loaded."""
        self.command("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript, awaited."""
        done = self.command("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise BrowserError(done["exceptionDetails"]["exception"].get("description", "?"))
        return done["result"].get("value")

    def until(self, expression: str) -> Any:
        """The value of an expression once it is true. Fails after half a minute, with what the page shows."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                value = self.evaluate(f"Promise.resolve({expression}).then((is) => (is instanceof Node ? true : is))")
            except BrowserError:  # a page on its way to another
                value = None
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"never: {expression}\n{self.evaluate('document.body.innerText')}\n{self.errors}")
            time.sleep(_POLL_S)

    def text(self, selector: str) -> str:
        """What somebody reads there."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def click(self, selector: str, containing: str = "") -> None:
        """Click on the first element that is to be seen, once nothing lies over it."""
        x, y = self.until(_POINT % (json.dumps(selector), json.dumps(containing)))
        for kind in ("mousePressed", "mouseReleased"):
            self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """As from a keyboard, where the cursor is."""
        self.command("Input.insertText", text=text)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key and let it go."""
        known = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS[key], "modifiers": _SHIFT if shift else 0}
        text = {"text": "\r"} if key == "Enter" else {}
        self.command("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **known, **text)
        self.command("Input.dispatchKeyEvent", type="keyUp", **known)

    def compose(self, text: str) -> None:
        """As an input method does while it offers characters, before any is chosen."""
        self.command("Input.imeSetComposition", text=text, selectionStart=len(text), selectionEnd=len(text))

    def screenshot(self, file: Path) -> None:
        """A picture of what is to be seen."""
        file.write_bytes(b64decode(self.command("Page.captureScreenshot", format="png")["data"]))


# The middle of an element, if a click there meets it.
_POINT = """(() => {
  for (const found of document.querySelectorAll(%s)) {
    if (found.disabled || !found.checkVisibility() || !found.textContent.includes(%s)) continue;
    found.scrollIntoView({ block: "nearest" });
    const { x, y, width, height } = found.getBoundingClientRect();
    const point = [x + width / 2, y + height / 2];
    if (found.contains(document.elementFromPoint(...point))) return point;
  }
})()"""


@contextmanager
def running(folder: Path) -> Iterator[Browser]:
    """A browser with its files in a folder; it has ended when this is over."""
    found = chromium.installed()
    commands_out, commands_in = _pipe()
    answers_out, answers_in = _pipe()
    options = [*_OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    command = [sys.executable, "-c", _WITH_PIPES, str(commands_out), str(answers_in), str(found.program), *options]
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(folder), **found.variables}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command,
            env=environment,
            pass_fds=(commands_out, answers_in),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    os.close(commands_out)
    os.close(answers_in)
    try:
        yield Browser(commands_in, answers_out)
    finally:
        process.kill()
        process.wait()
        os.close(commands_in)
        os.close(answers_out)


@contextmanager
def new_page(browser: Browser) -> Iterator[Page]:
    """A page that shares nothing with others."""
    context = browser.command("Target.createBrowserContext")["browserContextId"]
    try:
        target = browser.command("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        attached = browser.command("Target.attachToTarget", targetId=target, flatten=True)
        yield Page(browser, attached["sessionId"])
    finally:
        browser.command("Target.disposeBrowserContext", browserContextId=context)


def _pipe() -> tuple[int, int]:
    """Ends that are none of the files 0 to 9, among which the program wants two."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _write(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]
