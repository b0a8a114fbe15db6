"""What `make run` shows when the service answers: commands that work when pasted in this order, and a page."""

from pathlib import Path

_PAGE = Path(__file__).resolve().parents[2] / "clients" / "web" / "chat.html"


def first_commands(api_url: str, sign_in: str | None) -> list[str]:
    """Create a conversation, send a message, look at the memory."""
    curl = "curl -sw '\\n'"
    commands = []
    if sign_in:
        commands.append(f"TOKEN=$({sign_in})")
        curl += ' -H "authorization: Bearer $TOKEN"'
    post = f"{curl} -H 'content-type: application/json' -d"
    identifier = "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"id\"])'"
    return [
        *commands,
        f"""CONVERSATION=$({post} '{{"name": "First"}}' {api_url}/conversations | {identifier})""",
        f"""{post} '{{"content": [{{"text": "My name is Ada."}}]}}' {api_url}/conversations/$CONVERSATION/turns""",
        f"{curl} {api_url}/conversations/$CONVERSATION/history",
    ]


def page(api_url: str) -> str:
    """Where a browser of this machine finds the page that holds conversations with this service."""
    return f"{_PAGE.as_uri()}?api={api_url}"
