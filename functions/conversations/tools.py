"""The tool configuration that goes with a list of messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conversations.content import TOOL_USE
from conversations.errors import InvalidRequestError

Configuration = Mapping[str, Any]


def check_tool_configuration(configuration: object, *, field: str = "toolConfiguration") -> Configuration | None:
    """Converse's ``ToolConfiguration``: ``{"tools": [{"toolSpec": {name, description?, inputSchema: {json}}}],
    toolChoice?}``.

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
    return configuration


def tool_configuration_for(
    messages: Sequence[Mapping[str, Any]],
    configuration: Configuration | None,
    client_tools: Sequence[Mapping[str, Any]],
) -> Configuration | None:
    """The tools of the turn and those of the event together.

    Converse refuses tool blocks without a tool configuration. Where none was ever given, the tools that were used stand
    in it by name, with any object as input.
    """
    tools = [*configuration["tools"]] if configuration else []
    tools += [{"toolSpec": dict(tool)} for tool in client_tools]
    names = [tool["toolSpec"]["name"] for tool in tools if "toolSpec" in tool]
    if len(set(names)) < len(names):
        raise InvalidRequestError("Two tools have the same name.", field="toolsConfiguration.clientTools")
    if not tools:
        used = dict.fromkeys(_used(messages))
        tools = [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}} for name in used]
    return {**(configuration or {}), "tools": tools} if tools else None


def _used(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (block[TOOL_USE]["name"] for message in messages for block in message["content"] if TOOL_USE in block)


def _check_tool(tool: object, field: str) -> str:
    spec = tool.get("toolSpec") if isinstance(tool, dict) else None
    if not isinstance(spec, dict):
        raise InvalidRequestError(f"{field}.toolSpec must be an object.", field=f"{field}.toolSpec")
    name = spec.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidRequestError(f"{field}.toolSpec.name must be a string.", field=f"{field}.toolSpec.name")
    schema = spec.get("inputSchema")
    if not isinstance(schema, dict) or not isinstance(schema.get("json"), dict):
        schema_field = f"{field}.toolSpec.inputSchema.json"
        raise InvalidRequestError(f"{schema_field} must be an object.", field=schema_field)
    return name
