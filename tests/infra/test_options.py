"""Options are refused when the deployment would not be what was meant, with a message that helps."""

import dataclasses

import pytest

from infra import options
from infra.logs import RETENTION
from infra.options import Options, OptionsError


def test_defaults() -> None:
    assert dataclasses.asdict(Options.parse({})) == {
        "stage": "dev",
        "auth": "jwt",
        "model_id": "amazon.nova-lite-v1:0",
        "system_prompt": "",
        "tools": (),
        "tool_rounds": 10,
        "history_tokens": 100_000,
        "model_fields": "",
        "guardrail": None,
        "cache_points": False,
        "max_output_tokens": None,
        "issuer": None,
        "audience": (),
        "graphql_hosts": (),
        "message_updated_time": True,
        "cors_origins": (),
        "log_retention_days": 30,
        "snap_start": False,
        "alarm_email": None,
    }


def test_every_option_is_read() -> None:
    parsed = Options.parse(
        {
            "stage": "team-a",
            "auth": "jwt",
            "modelId": "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "systemPrompt": "You are terse.",
            "toolRounds": "5",
            "historyTokens": "8000",
            "modelFields": '{"top_k": 5}',
            "guardrail": "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc123:DRAFT",
            "cachePoints": "true",
            "maxOutputTokens": 512,
            "issuer": "https://login.example.com/realms/a",
            "audience": "web, cli",
            "graphqlHosts": "api.example.com, graph.example.org",
            "messageUpdatedTime": "false",
            "corsOrigins": "https://a.example.com,http://localhost:5173",
            "logRetentionDays": "7",
            "snapStart": "true",
            "alarmEmail": "me@example.com",
        }
    )
    assert dataclasses.astuple(parsed) == (
        "team-a",
        "jwt",
        "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "You are terse.",
        (),
        5,
        8000,
        '{"top_k":5}',
        "arn:aws:bedrock:eu-west-1:123456789012:guardrail/abc123:DRAFT",
        True,
        512,
        "https://login.example.com/realms/a",
        ("web", "cli"),
        ("api.example.com", "graph.example.org"),
        False,
        ("https://a.example.com", "http://localhost:5173"),
        7,
        True,
        "me@example.com",
    )


def test_an_empty_value_counts_as_not_given() -> None:
    given = dict.fromkeys(("stage", "auth", "modelId", "maxOutputTokens", "issuer", "corsOrigins"), "")
    assert Options.parse(given) == Options.parse({})


@pytest.mark.parametrize("stage", ["prod", "production"])
def test_production_keeps_data_and_logs(stage: str) -> None:
    parsed = Options.parse({"stage": stage})
    assert parsed.production
    assert parsed.log_retention_days == 365


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"stage": "Prod!"}, "stage: 'Prod!' is not allowed; allowed are a-z, 0-9 and -, at most 20"),
        ({"auth": "iam"}, "auth: 'iam' is not one of jwt, none"),
        ({"modelId": "nova lite"}, "modelId: 'nova lite' is not allowed; allowed are ids and ARNs"),
        ({"historyTokens": "many"}, "historyTokens: 'many' is not allowed; allowed are whole numbers from 1"),
        ({"historyTokens": 0}, "historyTokens: '0'"),
        ({"maxOutputTokens": "-1"}, "maxOutputTokens: '-1'"),
        ({"systemPrompt": "ü" * 2000}, "systemPrompt: 4000 bytes; at most 2700"),
        ({"modelFields": "{"}, "modelFields: Expecting"),
        ({"modelFields": "[1]"}, "modelFields: must be a JSON object of 300 bytes at most"),
        ({"modelFields": '{"a": "' + "x" * 300 + '"}'}, "modelFields: must be a JSON object of 300 bytes"),
        ({"guardrail": "abc123"}, "guardrail: 'abc123' is not allowed; allowed are <id or ARN>:<version>"),
        ({"cachePoints": "yes"}, "cachePoints: 'yes' is not one of true, false"),
        ({"messageUpdatedTime": "no"}, "messageUpdatedTime: 'no' is not one of true, false"),
        ({"logRetentionDays": "8"}, "logRetentionDays: '8' is not one of 1, 3, 5, 7, 14, 30"),
        ({"graphqlHosts": "https://a.example.com"}, "graphqlHosts: 'https://a.example.com' is not allowed"),
        ({"graphqlHosts": "localhost"}, "graphqlHosts: 'localhost' is not allowed"),
        ({"graphqlHosts": "127.0.0.1"}, "graphqlHosts: '127.0.0.1' is not allowed; allowed are names of hosts"),
        ({"corsOrigins": "https://example.com/"}, "corsOrigins: 'https://example.com/' is not allowed"),
        ({"corsOrigins": "https://a.example.com,*"}, "corsOrigins: '*' is not allowed; allowed are '*' alone"),
        ({"corsOrigins": "example.com"}, "corsOrigins: 'example.com' is not allowed"),
        ({"alarmEmail": "me"}, "alarmEmail: 'me' is not allowed; allowed are one address"),
        ({"issuer": "https://login.example.com"}, "issuer and audience belong together"),
        ({"audience": "web"}, "issuer and audience belong together"),
        ({"issuer": "http://login.example.com", "audience": "web"}, "issuer: 'http://login.example.com' is not"),
        ({"issuer": "https://a.example", "audience": "web", "auth": "none"}, "issuer: it has no effect with auth=none"),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(context: dict[str, object], message: str) -> None:
    with pytest.raises(OptionsError) as refused:
        Options.parse(context)
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize(
    ("written", "meant"), [("satge", "stage"), ("modelid", "modelId"), ("cors-origins", "corsOrigins")]
)
def test_a_misspelt_option_is_not_ignored(written: str, meant: str) -> None:
    with pytest.raises(OptionsError, match=f"unknown option '{written}': did you mean '{meant}'"):
        Options.parse({written: "x"})


def test_other_context_is_none_of_our_business() -> None:
    Options.parse({"aws:cdk:enable-path-metadata": True, "@aws-cdk/aws-iam:minimizePolicies": True, "tags": ["a"]})


def test_every_option_is_documented() -> None:
    assert options.__doc__ is not None
    assert all(name in options.__doc__ for name in options.NAMES)


def test_retention_table_maps_days_to_what_cdk_calls_them() -> None:
    names = [retention.name for retention in RETENTION.values()]
    assert len(set(names)) == len(RETENTION)
    assert (RETENTION[1].name, RETENTION[30].name, RETENTION[365].name) == ("ONE_DAY", "ONE_MONTH", "ONE_YEAR")
