"""The options of a deployment: ``-c name=value`` on the command line, or ``context`` in ``cdk.json``.

====================  =====================  ==========================================================================
option                default                meaning
====================  =====================  ==========================================================================
stage                 dev                    any name; ``prod`` (or ``production``) keeps data and protects it
auth                  jwt                    who gets in: users with a token, or with ``none`` everybody
modelId               amazon.nova-lite-v1:0  id or ARN of a Bedrock model or of an inference profile
systemPrompt          (none)                 what every conversation's model is told first
tools                 (none)                 a JSON file of Lambda functions that the model may have called
toolRounds            10                     how often it may, one after the other, for one answer
historyTokens         100000                 how much of a history the model is sent
modelFields           (none)                 parameters of the model's own, a JSON object
guardrail             (none)                 ``<id or ARN>:<version>`` of a guardrail that every answer passes
cachePoints           false                  ``true`` marks what the model's provider may keep for the next request
maxOutputTokens       (the model's own)      how long an answer may be
issuer, audience      (the stack's pool)     another OpenID issuer, and the audiences of its tokens (comma list)
graphqlHosts          (none)                 names of AppSync APIs beside AWS's own for them (comma list)
messageUpdatedTime    true                   ``false`` hides ``updated_time`` of messages from clients of OpenSearch
corsOrigins           (none)                 origins of front ends (comma list), or ``*``
logRetentionDays      30; production 365     one of the periods that CloudWatch Logs knows
snapStart             false                  ``true`` starts the API's function from a snapshot
alarmEmail            (none)                 who is told of alarms, after they confirmed the subscription
====================  =====================  ==========================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal, Self, cast, get_args

from constructs import Node

from infra.logs import RETENTION
from infra.tools import Tool, ToolsError, read_tools

Auth = Literal["jwt", "none"]

NAMES: Final = (
    "stage",
    "auth",
    "modelId",
    "systemPrompt",
    "tools",
    "toolRounds",
    "historyTokens",
    "modelFields",
    "guardrail",
    "cachePoints",
    "maxOutputTokens",
    "issuer",
    "audience",
    "graphqlHosts",
    "messageUpdatedTime",
    "corsOrigins",
    "logRetentionDays",
    "snapStart",
    "alarmEmail",
)
LOCAL_STAGE: Final = "local"
PRODUCTION_STAGES: Final = ("prod", "production")

# All environment variables of a function share 4 KB (Lambda quotas); names, tables and the rest take under 1 KB.
SYSTEM_PROMPT_BYTES: Final = 2_700
MODEL_FIELDS_BYTES: Final = 300


class OptionsError(ValueError):
    """An option has a value that cannot be deployed; the message names the option and what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything that may differ between two deployments, parsed and checked once."""

    stage: str
    auth: Auth
    model_id: str
    system_prompt: str
    tools: tuple[Tool, ...]
    tool_rounds: int
    history_tokens: int
    model_fields: str
    guardrail: str | None
    cache_points: bool
    max_output_tokens: int | None
    issuer: str | None
    audience: tuple[str, ...]
    graphql_hosts: tuple[str, ...]
    message_updated_time: bool
    cors_origins: tuple[str, ...]
    log_retention_days: int
    snap_start: bool
    alarm_email: str | None

    @property
    def production(self) -> bool:
        """Whether data outlives its stack and is protected from deletion."""
        return self.stage in PRODUCTION_STAGES

    @property
    def is_local(self) -> bool:
        """Whether the stack is deployed into the emulator of one's own machine (`make run`)."""
        return self.stage == LOCAL_STAGE

    @classmethod
    def from_context(cls, node: Node) -> Self:
        """Read every option, with its default; an empty value counts as not given."""
        return cls.parse(node.get_all_context())

    @classmethod
    def parse(cls, context: Mapping[str, Any]) -> Self:
        _refuse_misspelt_names(context)
        given = {name: _text(context[name]) for name in NAMES if context.get(name) not in (None, "", [])}
        stage = _matching("stage", given.get("stage", "dev"), r"[a-z][a-z0-9-]{0,19}", "a-z, 0-9 and -, at most 20")
        options = cls(
            stage=stage,
            auth=cast(Auth, _one_of("auth", given.get("auth", "jwt"), get_args(Auth))),
            model_id=_model_id(given.get("modelId", "amazon.nova-lite-v1:0")),
            system_prompt=_system_prompt(given.get("systemPrompt", "")),
            tools=_tools(given["tools"]) if "tools" in given else (),
            tool_rounds=_number("toolRounds", given.get("toolRounds", "10")),
            history_tokens=_number("historyTokens", given.get("historyTokens", "100000")),
            model_fields=_model_fields(given.get("modelFields", "")),
            guardrail=_guardrail(given.get("guardrail")),
            cache_points=_one_of("cachePoints", given.get("cachePoints", "false").lower(), ("true", "false")) == "true",
            max_output_tokens=_number("maxOutputTokens", given["maxOutputTokens"])
            if "maxOutputTokens" in given
            else None,
            issuer=given.get("issuer"),
            audience=_listed(given.get("audience", "")),
            graphql_hosts=_hosts(given.get("graphqlHosts", "")),
            message_updated_time=_flag("messageUpdatedTime", given.get("messageUpdatedTime", "true")),
            cors_origins=_origins(given.get("corsOrigins", "")),
            log_retention_days=_retention(given.get("logRetentionDays"), production=stage in PRODUCTION_STAGES),
            snap_start=_flag("snapStart", given.get("snapStart", "false")),
            alarm_email=_email(given.get("alarmEmail")),
        )
        _check_issuer(options)
        return options


def _refuse_misspelt_names(context: Mapping[str, Any]) -> None:
    """``-c satge=prod`` must not quietly deploy the default stage. Context of CDK itself carries ``:`` or ``/``."""
    by_folded = {name.lower(): name for name in NAMES}
    for name in context:
        if name in NAMES or ":" in name or "/" in name:
            continue
        folded = name.replace("_", "").replace("-", "").lower()
        if close := get_close_matches(folded, by_folded, n=1, cutoff=0.8):
            raise OptionsError(f"unknown option '{name}': did you mean '{by_folded[close[0]]}'?")


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value).strip()


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _matching(name: str, text: str, pattern: str, allowed: str) -> str:
    if not re.fullmatch(pattern, text):
        raise OptionsError(f"{name}: '{text}' is not allowed; allowed are {allowed}")
    return text


def _one_of(name: str, text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise OptionsError(f"{name}: '{text}' is not one of {', '.join(allowed)}")
    return text


def _flag(name: str, text: str) -> bool:
    return _one_of(name, text.lower(), ("true", "false")) == "true"


def _number(name: str, text: str) -> int:
    return int(_matching(name, text, r"[1-9][0-9]{0,8}", "whole numbers from 1"))


def _model_id(text: str) -> str:
    return _matching("modelId", text, r"[A-Za-z0-9][A-Za-z0-9.:/_-]{0,2047}", "ids and ARNs of models and of profiles")


def _system_prompt(text: str) -> str:
    if (size := len(text.encode())) > SYSTEM_PROMPT_BYTES:
        raise OptionsError(f"systemPrompt: {size} bytes; at most {SYSTEM_PROMPT_BYTES} fit a function's environment")
    return text


def _model_fields(text: str) -> str:
    """Compact JSON, since it stands in the environment beside the system prompt."""
    try:
        fields = json.loads(text or "{}")
    except ValueError as error:
        raise OptionsError(f"modelFields: {error}") from None
    written = json.dumps(fields, separators=(",", ":")) if fields else ""
    if not isinstance(fields, dict) or len(written) > MODEL_FIELDS_BYTES:
        raise OptionsError(f"modelFields: must be a JSON object of {MODEL_FIELDS_BYTES} bytes at most")
    return written


def _guardrail(text: str | None) -> str | None:
    pattern = r"([a-z0-9]+|arn:aws[a-z-]*:bedrock:[a-z0-9-]+:[0-9]{12}:guardrail/[a-z0-9]+):([1-9][0-9]{0,7}|DRAFT)"
    return text and _matching("guardrail", text, pattern, "<id or ARN>:<version>")


def _tools(text: str) -> tuple[Tool, ...]:
    try:
        return read_tools(Path(text))
    except ToolsError as error:
        raise OptionsError(f"tools: {error}") from None


def _origins(text: str) -> tuple[str, ...]:
    """An origin is a scheme and a host; API Gateway takes one with a path or a slash too, and then it never matches."""
    origins = _listed(text)
    if origins == ("*",):
        return origins
    allowed = "'*' alone, or origins such as https://example.com (no path, no slash at the end)"
    return tuple(_matching("corsOrigins", origin, r"[a-z][a-z0-9+.-]*://[^/\s*]+", allowed) for origin in origins)


def _hosts(text: str) -> tuple[str, ...]:
    """Names alone: what listens on the loopback of a function on AWS is Lambda itself."""
    name = r"(?!localhost$)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}"
    return tuple(
        _matching("graphqlHosts", host, name, "names of hosts, such as api.example.com") for host in _listed(text)
    )


def _email(text: str | None) -> str | None:
    return text and _matching("alarmEmail", text, r"[^@\s,]+@[^@\s,]+", "one address")


def _retention(text: str | None, *, production: bool) -> int:
    if text is None:
        return 365 if production else 30
    return int(_one_of("logRetentionDays", text, tuple(map(str, RETENTION))))


def _check_issuer(options: Options) -> None:
    if options.issuer is None and not options.audience:
        return
    if options.issuer is None or not options.audience:
        raise OptionsError("issuer and audience belong together: give both, or none for the user pool of the stack")
    if options.auth == "none":
        raise OptionsError("issuer: it has no effect with auth=none")
    _matching("issuer", options.issuer, r"https://[^\s?#]+", "https URLs, as in the iss claim")
