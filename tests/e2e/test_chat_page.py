"""The page that holds a conversation, in a real browser, from another origin than the deployed service's."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.bed import browser as browsers
from tests.bed.browser import Browser, Page
from tests.bed.forwarder import Forwarder, Passed, Passing
from tests.bed.messages import said
from tests.bed.replies import Hold, Pause, Reply, Text, invalid, text
from tests.bed.stack import Stack
from tests.bed.troubling import Trouble, Troubler, cut
from tests.e2e.calls import append, ask, create, followed, messages

pytestmark = pytest.mark.stack

FOLDER = Path(__file__).parents[2] / "clients" / "web"
SHOWN = "document.querySelector('#messages').innerText"
BUSY = "document.querySelector('[aria-busy]')"
HOSTILE = "<img src=x onerror=\"document.title='broken'\"><script>document.title='broken'</script></em><b>bold</b>"


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Silence."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """The address of the page: a plain web server, somewhere else than the service."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Files, directory=str(FOLDER))) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://localhost:{server.server_port}/chat.html"
        server.shutdown()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browsers.running(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browsers.new_page(browser) as opened:
        yield opened
        assert opened.errors == []


Opens = Callable[..., None]


@pytest.fixture
def opens(page: Page, site: str, stack: Stack) -> Opens:
    """Open the page at a conversation of the stack, or at none."""

    def visit(path: str = "", api: str = stack.api_url) -> None:
        page.open(f"{site}?api={api}#{path.removeprefix('/conversations/')}")
        if path:
            page.until("!document.querySelector('#rename').hidden")

    return visit


def _say(page: Page, words: str) -> None:
    page.click("#composer textarea")
    page.type(words)
    page.press("Enter")


def _contains(words: str) -> str:
    return f"{SHOWN}.includes({words!r})"


# Asking


def test_an_answer_appears_while_it_comes_and_is_there_after_a_reload(page: Page, opens: Opens, stack: Stack) -> None:
    hold = Hold()
    stack.bedrock.script(Reply([Text(["Once upon "]), Pause(1.2), Text(["a time 😀"]), hold, Text([", the end."])]))
    opens()
    _say(page, "日本語 😀 a story")

    page.until(f"{BUSY} && {_contains('Once upon')}")
    assert "the end" not in page.evaluate(SHOWN)
    assert page.evaluate("document.querySelector('#send').checkVisibility()") is False
    hold.released.set()
    page.until(f"!{BUSY} && {_contains('the end.')}")
    page.until("document.querySelector('#status').textContent.startsWith('Answer: Once upon ')")

    assert "日本語 😀 a story" in page.text("#list [aria-current]")
    page.evaluate("location.reload()")
    page.until(f"{_contains('日本語 😀 a story')} && {_contains(', the end.')}")
    assert page.evaluate("document.querySelectorAll('#messages li').length") == 2


def test_the_page_works_as_a_file(page: Page, stack: Stack, http: httpx.Client) -> None:
    path = create(http)
    page.open(f"{(FOLDER / 'chat.html').as_uri()}?api={stack.api_url}#{path.removeprefix('/conversations/')}")
    page.until("!document.querySelector('#rename').hidden")
    _say(page, "From a file")

    page.until(_contains("You said: From a file"))


def test_enter_sends_but_not_while_characters_are_chosen_or_with_shift(
    page: Page, opens: Opens, http: httpx.Client
) -> None:
    path = create(http)
    opens(path)

    page.click("#composer textarea")
    page.compose("にほん")
    page.evaluate(
        "document.querySelector('textarea').dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
    )
    page.type("日本")
    page.press("Enter", shift=True)
    page.type("zwei")
    assert messages(http, path) == []
    page.press("Enter")
    page.until(_contains("You said: 日本"))

    assert messages(http, path)[0]["content"] == said("日本\nzwei")


def test_what_is_stopped_and_what_fails_says_so_and_may_be_asked_again(
    page: Page, opens: Opens, stack: Stack, http: httpx.Client
) -> None:
    path = create(http)
    hold = Hold()
    stack.bedrock.script(Reply([Text(["A long "]), Pause(1.2), Text(["story"]), hold]), invalid("too long"))
    opens(path)
    _say(page, "Tell me")
    page.until(_contains("A long"))

    page.click("#stop")
    page.until(_contains("Stopped."))
    hold.released.set()
    assert "A long" in page.evaluate(SHOWN)
    page.click(".failure button")
    page.until(_contains("The answer failed. ValidationException: too long"))
    page.evaluate("location.reload()")  # how it ended is still known
    page.until(_contains("The answer failed."))
    page.click(".failure button")
    page.until(_contains("You said: Tell me"))

    assert page.evaluate("document.querySelector('.failure')") is None
    assert [message["role"] for message in messages(http, path)] == ["user", "assistant"]


def test_an_answer_under_way_is_followed_by_whoever_opens_it(
    page: Page, opens: Opens, stack: Stack, http: httpx.Client
) -> None:
    path = create(http)
    hold = Hold()
    stack.bedrock.script(Reply([hold, Text(["Here I am."])]))
    ask(http, path, "Where are you?")
    opens(path)

    page.until(f"{BUSY} && document.querySelector('#stop').checkVisibility()")
    hold.released.set()
    page.until(_contains("Here I am."))


# Trouble


def _excused(retry_after_s: int) -> Trouble:
    """As the service itself says that it is busy, to a page of any origin."""
    allowed = [("access-control-allow-origin", "*"), ("access-control-expose-headers", "retry-after")]
    headers = [("content-type", "application/json"), ("retry-after", str(retry_after_s)), *allowed]
    return lambda _: Passed(503, headers, b'{"message": "Busy"}')


def test_trouble_sends_nothing_twice(page: Page, opens: Opens, stack: Stack, http: httpx.Client) -> None:
    path = create(http)
    append(http, path, said("Hello."), "assistant")
    with Troubler() as proxy:
        proxy.upstream = stack.api_url
        opens(path, api=proxy.url)
        page.until(f"{_contains('Hello.')} && document.querySelectorAll('#list li').length")
        proxy.troubles.extend([_excused(1), cut])  # both were done
        _say(page, "Only once")
        page.until(_contains("You said: Only once"))

    assert [message["role"] for message in messages(http, path)] == ["assistant", "user", "assistant"]
    assert len(stack.bedrock.requests) == 1


def test_what_could_not_be_sent_is_kept_and_sent_once(
    page: Page, opens: Opens, stack: Stack, http: httpx.Client
) -> None:
    path = create(http)
    append(http, path, said("Hello."), "assistant")
    with Troubler() as proxy:
        proxy.upstream = stack.api_url
        opens(path, api=proxy.url)
        page.until(f"{_contains('Hello.')} && document.querySelectorAll('#list li').length")
        proxy.troubles.extend([_excused(0)] * 4)
        _say(page, "Do not lose me")
        page.until("document.querySelector('#problem').checkVisibility()")
        assert page.text("#problem") == "Busy"
        page.evaluate("location.reload()")
        page.until("document.querySelector('#composer textarea').value === 'Do not lose me'")
        page.until(_contains("You said: Do not lose me"))  # it had arrived
        page.click("#send")
        page.until("document.querySelector('#composer textarea').value === ''")

    assert [message["role"] for message in messages(http, path)] == ["assistant", "user", "assistant"]


class _NoOrigins(Forwarder):
    """The service as it is deployed without origins of front ends."""

    def on_answer(self, request: Passing, answer: Passed) -> Passed:
        kept = [(name, value) for name, value in answer.headers if not name.lower().startswith("access-control-")]
        return Passed(answer.status, kept, answer.body)


def test_a_service_that_does_not_allow_the_page_is_told_from_none(page: Page, opens: Opens, stack: Stack) -> None:
    with _NoOrigins() as proxy:
        proxy.upstream = stack.api_url
        opens(api=proxy.url)
        page.until("document.querySelector('#problem').innerText.includes('corsOrigins')")
        assert "not to pages of http://localhost:" in page.text("#problem")
    page.evaluate("location.reload()")
    page.until("document.querySelector('#problem').innerText.startsWith('Nothing answers at http')")


# Many messages, many conversations


def test_older_messages_come_by_scrolling_and_hits_of_the_search_are_gone_to(
    page: Page, opens: Opens, http: httpx.Client
) -> None:
    path = create(http)
    pairs: list[dict[str, Any]] = [
        {"role": role, "content": said(f"{words} number {number}")}
        for number in range(45)
        for role, words in (("user", "question"), ("assistant", "reply"))
    ]
    assert http.post(f"{path}/messages", json={"messages": pairs}).status_code == 201
    opens(path)
    page.until(_contains("reply number 44"))
    count = "document.querySelectorAll('#messages li').length"
    assert page.evaluate(count) == 30
    at_end = "document.querySelector('#scroller').scrollHeight - 2 <"
    page.until(
        f"{at_end} document.querySelector('#scroller').scrollTop + document.querySelector('#scroller').offsetHeight"
    )

    page.evaluate("document.querySelector('#scroller').scrollTop = 0")
    page.until(f"{count} === 60")
    page.click("#search input")
    page.type("7")
    page.press("Enter")
    page.until("document.querySelector('#results').innerText.includes('1 exchange found')")
    assert page.evaluate("[...document.querySelectorAll('#results mark')].map((is) => is.innerText)") == ["7", "7"]
    page.click("#results li button", "reply number 7")
    page.until(
        "document.activeElement.matches('.found') && document.activeElement.innerText.startsWith('reply number 7')"
    )

    shown = page.evaluate("[...document.querySelectorAll('#messages .body')].map((is) => is.innerText)")
    assert shown == [pair["content"][0]["text"] for pair in pairs]


def test_conversations_are_listed_by_pages_begun_renamed_and_deleted(
    page: Page, opens: Opens, http: httpx.Client
) -> None:
    for number in range(31):
        path = create(http, name=f"Listed {number}.")
    opens(path)
    page.until("document.querySelector('#list').innerText.includes('Listed 30.')")
    assert "Listed 0." not in page.text("#list")
    page.click("#more")
    page.until("document.querySelector('#list').innerText.includes('Listed 0.')")

    page.click("#rename")
    page.evaluate("document.querySelector('#naming input').select()")
    page.type("Renamed <b>now</b>")
    page.press("Enter")
    page.until("document.querySelector('#title').innerText === 'Renamed <b>now</b>'")
    assert http.get(path).json()["name"] == "Renamed <b>now</b>"
    page.click("#new")
    page.until("document.querySelector('#title').innerText === 'New conversation'")
    page.click("#list button", "Renamed <b>now</b>")
    page.until("!document.querySelector('#delete').hidden")
    page.click("#delete")
    page.click("#deleting button.main")
    page.until("document.querySelector('#title').innerText === 'New conversation'")

    assert http.get(path).status_code == 404
    assert "Renamed" not in page.text("#list")


# Safety


def test_hostile_text_is_shown_as_text(page: Page, opens: Opens, stack: Stack, http: httpx.Client) -> None:
    path = create(http, name=HOSTILE)
    append(
        http, path, [{"text": f"```html\n{HOSTILE}\n```"}, {"image": {"format": "png", "source": {"bytes": "AAAA"}}}]
    )
    append(
        http,
        path,
        [{HOSTILE: HOSTILE}, {"toolUse": {"toolUseId": "t", "name": "w", "input": {"x": HOSTILE}}}],
        "assistant",
    )
    stack.bedrock.script(text(HOSTILE))
    followed(http, path, ask(http, path, f"river {HOSTILE}"))
    opens(path)
    page.until(_contains("river"))
    page.click("#search input")
    page.type("river bold")
    page.press("Enter")
    page.until("document.querySelector('#results li')")

    assert (
        page.evaluate("document.querySelectorAll('#messages b, #list b, #results b, #title b, main script').length")
        == 0
    )
    assert page.evaluate("[...document.images].every((is) => is.src.startsWith('data:image/png;base64,'))") is True
    assert page.evaluate("document.title") == HOSTILE
    for selector in ("#title", "#list [aria-current]", "#messages pre", "#messages .user p", "#messages .assistant p"):
        assert HOSTILE in page.text(selector), selector
    assert page.errors == []
    blocked = "(() => { try { document.body.innerHTML = '<b>x</b>'; } catch (error) { return error.name; } })()"
    assert page.evaluate(blocked) == "TypeError"
    page.forget_errors()


def test_a_token_is_asked_for_until_it_is_right_and_kept_for_this_address_and_tab(
    page: Page, site: str, secured: Stack
) -> None:
    with secured.http(secured.token("chatting")) as http:
        create(http, name="Mine alone")
    page.open(f"{site}?api={secured.api_url}")
    page.until("document.querySelector('#connection').open")
    assert page.text("#connection .why") == "The service asks for a token."
    assert page.evaluate("document.querySelectorAll('dialog[open]').length") == 1

    page.click("[name=token]")
    page.type("made.up.token")
    page.press("Enter")
    page.until("document.querySelector('#connection .why').innerText.startsWith('The service does not take')")
    page.click("[name=token]")
    page.type(secured.token("chatting"))
    page.press("Enter")
    page.until("document.querySelector('#list').innerText.includes('Mine alone')")
    page.evaluate("location.reload()")
    page.until("document.querySelector('#list').innerText.includes('Mine alone')")

    stored = f"sessionStorage.getItem('token {secured.api_url}')"
    assert page.evaluate(f"{stored}.split('.').length") == 3
    assert page.evaluate(f"location.href.includes({stored})") is False
    assert page.evaluate("JSON.stringify(Object.keys(localStorage))") == '["api"]'


def test_a_link_to_another_address_takes_no_token_there(page: Page, opens: Opens, stack: Stack) -> None:
    seen: list[str | None] = []

    class Curious(Forwarder):
        def on_request(self, request: Passing) -> Passing:
            seen.append(request.header("authorization"))
            return request

    opens()
    page.evaluate(f"sessionStorage.setItem('token {stack.api_url}', 'secret')")
    with Curious() as proxy:
        proxy.upstream = stack.api_url
        opens(api=proxy.url)
        page.until("document.querySelectorAll('#list li').length")

    assert seen
    assert set(seen) == {None}
    assert page.evaluate("localStorage.getItem('api')") is None  # the next tab is not connected there


def test_what_is_sent_to_one_address_goes_to_no_other(
    page: Page, opens: Opens, stack: Stack, http: httpx.Client
) -> None:
    """It is to be tried again when somebody has typed another address meanwhile."""
    heard = [("access-control-allow-origin", "*"), ("access-control-expose-headers", "retry-after")]
    busy = Passed(503, [*heard, ("retry-after", "2")], b"{}")
    created = http.get("/conversations").json()["conversations"]
    with Forwarder(lambda request: (lambda _: busy) if request.method == "POST" else None) as proxy:
        proxy.upstream = stack.api_url
        opens(api=proxy.url)
        page.until(f"document.querySelector('#where').innerText === '{proxy.url}'")
        _say(page, "For one service alone")
        page.until("document.querySelector('#send').disabled")
        page.click("#connect")
        page.evaluate(f"document.querySelector('[name=api]').value = '{stack.api_url}'")
        page.click("#connection .main")
        page.until("document.querySelector('#problem').innerText === 'Connected to another address.'")

    assert page.text("#where") == stack.api_url
    assert http.get("/conversations").json()["conversations"] == created
    assert page.evaluate("localStorage.getItem('api')") == stack.api_url
    page.forget_errors()


# For everybody


@pytest.mark.parametrize("width", [320, 1200])
def test_everything_has_a_name_and_fits(page: Page, opens: Opens, http: httpx.Client, width: int) -> None:
    page.command("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=1, mobile=width < 500)
    path = create(http, name="long " * 40)
    append(http, path, said("unbroken" * 60))
    append(http, path, said(f"```\n{'wide ' * 200}\n```"), "assistant")
    opens(path)
    page.until("document.querySelectorAll('#messages li').length === 2")

    nodes = page.command("Accessibility.getFullAXTree")["nodes"]
    roles = {"button", "textbox", "searchbox", "region", "navigation", "dialog"}
    named = [(node["role"]["value"], node["name"]["value"]) for node in nodes if node["role"]["value"] in roles]
    assert {"button", "textbox", "searchbox", "region"} <= {role for role, _ in named}
    assert [role for role, name in named if not name] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth") is True
    if width < 500:
        page.click("#menu")
        page.until("document.querySelector('#menu').ariaExpanded === 'true'")
        page.click("#list button", "long")
        page.until("document.querySelector('#menu').ariaExpanded === 'false'")
