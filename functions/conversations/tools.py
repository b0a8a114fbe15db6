"""The tool configuration that goes with a list of messages."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from conversations import shapes
from conversations.content import TOOL_USE
from conversations.converse import TOOL_NAME
from conversations.errors import InvalidRequestError
from conversations.shapes import Complaints, kind_of, object_of, text_like

Configuration = Mapping[str, Any]
_ANY_INPUT = {"json": {"type": "object"}}
_NAME = text_like(TOOL_NAME, "1 to 64 of A-Z, a-z, 0-9, _ and -")
_SCHEMA = object_of({"json": shapes.json_object})


def _input_schema(value: object, field: str, complaints: Complaints) -> Any:
    return _SCHEMA({} if value is None else value, field, complaints)


_SPECIFICATION = object_of(
    {"name": _NAME, "inputSchema": _input_schema},
    {"description": text_like("(?s:.+)", "a string that is not empty"), "strict": shapes.truth},
)
_CHOICE = kind_of({"auto": object_of({}), "any": object_of({}), "tool": object_of({"name": _NAME})})


def check_tool_configuration(configuration: object, *, field: str = "toolConfiguration") -> Configuration | None:
    """Converse's ``ToolConfiguration``: ``{"tools": [{"toolSpec": {name, description?, inputSchema: {json}, strict?}}],
    toolChoice?}``. Other members beside these are kept, and not sent.

    Raises:
        InvalidRequestError: it is not shaped so, or two tools have one name.
    """
    if configuration is None:
        return None
    tools = configuration.get("tools") if isinstance(configuration, dict) else None
    if not isinstance(configuration, dict) or not isinstance(tools, list) or not tools:
        raise InvalidRequestError(f"{field} must be an object with a list of tools.", field=field)
    names: set[str] = set()
    for place, tool in enumerate(tools):
        name = _check_tool(tool, f"{field}.tools[{place}]")
        if name in names:
            raise InvalidRequestError(f"{field}: two tools are named {name!r}.", field=f"{field}.tools[{place}]")
        names.add(name)
    if configuration.get("toolChoice") is not None:
        complaints: Complaints = []
        _CHOICE(configuration["toolChoice"], f"{field}.toolChoice", complaints)
        _refuse(complaints)
    return configuration


def refuse_registered(
    configuration: Configuration | None, registered: Set[str], *, field: str = "toolConfiguration"
) -> None:
    """Raises ``InvalidRequestError`` for a tool of a name that a registered one has."""
    for place, tool in enumerate((configuration or {}).get("tools", ())):
        name = tool["toolSpec"]["name"]
        if name in registered:
            where = f"{field}.tools[{place}]"
            raise InvalidRequestError(f"{where}: {name!r} is a tool of the service itself.", field=where)


def tool_configuration_for(
    messages: Sequence[Mapping[str, Any]],
    configuration: Configuration | None,
    client_tools: Sequence[Mapping[str, Any]],
    own_tools: Sequence[Mapping[str, Any]] = (),
) -> Configuration | None:
    """The tools of the turn, those of the event and those that are called here (specifications) together, with the
    members that Converse knows.

    Converse refuses tool blocks without a tool configuration. Where none was ever given, the tools that were used stand
    in it by name, with any object as input. A tool of the turn that has been registered since stands aside.

    Raises:
        InvalidRequestError: two tools have one name, or a tool of the event is not shaped as Converse wants it.
    """
    own = {specification["name"]: {"toolSpec": specification} for specification in own_tools}
    stored = [tool for tool in _stored_tools(configuration) if tool["toolSpec"]["name"] not in own]
    tools = [*own.values(), *stored, *_tools_of_event(client_tools)]
    names = [tool["toolSpec"]["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise InvalidRequestError("Two tools have the same name.", field="toolsConfiguration.clientTools")
    if not tools:
        tools = [{"toolSpec": {"name": name, "inputSchema": _ANY_INPUT}} for name in dict.fromkeys(_used(messages))]
    if not tools:
        return None
    choice = _CHOICE((configuration or {}).get("toolChoice"), "", [])
    if choice is None or ("tool" in choice and choice["tool"]["name"] not in names):
        return {"tools": tools}
    return {"tools": tools, "toolChoice": choice}


def names_in(configuration: Configuration | None) -> set[str]:
    """The names of the tools of what ``tool_configuration_for`` gave."""
    return {tool["toolSpec"]["name"] for tool in (configuration or {}).get("tools", ())}


def _stored_tools(configuration: Configuration | None) -> Iterator[dict[str, Any]]:
    for tool in (configuration or {}).get("tools", ()):
        specification = _SPECIFICATION(tool.get("toolSpec"), "", [])
        if specification is not None:
            yield {"toolSpec": specification}


def _tools_of_event(client_tools: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for place, tool in enumerate(client_tools):
        complaints: Complaints = []
        given = {"inputSchema": _ANY_INPUT, **tool}
        specification = _SPECIFICATION(given, f"toolsConfiguration.clientTools[{place}]", complaints)
        _refuse(complaints)
        yield {"toolSpec": specification}


def _used(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (block[TOOL_USE]["name"] for message in messages for block in message["content"] if TOOL_USE in block)


def _check_tool(tool: object, field: str) -> str:
    complaints: Complaints = []
    given = tool.get("toolSpec") if isinstance(tool, dict) else None
    specification = _SPECIFICATION(given, f"{field}.toolSpec", complaints)
    _refuse(complaints)
    return str(specification["name"])


def _refuse(complaints: Complaints) -> None:
    for field, rule in complaints[:1]:
        raise InvalidRequestError(f"{field} {rule}.", field=field)
