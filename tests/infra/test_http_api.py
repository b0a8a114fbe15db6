"""Who gets past the gateway, and by which route."""

import json
from typing import Any

import pytest

from tests.infra.conftest import Synthesise
from tests.infra.template import Deployment

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")
GREEDY = {f"{method} {path}" for method in METHODS for path in ("/", "/{proxy+}")}
SERVICE = {f"{method} /service/{{proxy+}}" for method in METHODS}
PUBLIC = {"GET /status", "GET /openapi.json"}


def test_users_bring_a_token_and_services_sign(default: Deployment) -> None:
    assert _routes_by_authorization(default) == {"JWT": GREEDY, "AWS_IAM": SERVICE, "NONE": PUBLIC}


def test_without_authorization_services_still_sign(synthesise: Synthesise) -> None:
    deployment = synthesise(auth="none")
    assert _routes_by_authorization(deployment) == {"AWS_IAM": SERVICE, "NONE": GREEDY | PUBLIC}
    assert deployment.app.resources("AWS::ApiGatewayV2::Authorizer") == {}
    assert deployment.environment("ApiFunction")["AUTH"] == "none"


def test_tokens_come_from_the_stacks_own_pool(default: Deployment) -> None:
    authorizer = default.app.the_only("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["JwtConfiguration"] == {
        "Audience": ["UsersPoolClient"],
        "Issuer": "https://cognito-idp.<AWS::Region>.amazonaws.com/UsersPool",
    }


def test_tokens_may_come_from_another_issuer(synthesise: Synthesise) -> None:
    deployment = synthesise(issuer="https://login.example.com/", audience="web,cli")
    authorizer = deployment.app.the_only("AWS::ApiGatewayV2::Authorizer")
    assert authorizer["JwtConfiguration"] == {"Audience": ["web", "cli"], "Issuer": "https://login.example.com/"}
    assert _routes_by_authorization(deployment) == {"JWT": GREEDY, "AWS_IAM": SERVICE, "NONE": PUBLIC}


@pytest.mark.parametrize("options", [{}, {"auth": "none"}, {"corsOrigins": "*"}])
def test_no_route_takes_preflight_requests(synthesise: Synthesise, options: dict[str, str]) -> None:
    routes = synthesise(**options).app.properties("AWS::ApiGatewayV2::Route").values()
    methods = {route["RouteKey"].split()[0] for route in routes}
    assert methods == set(METHODS)


def test_no_other_site_may_call_by_default(default: Deployment) -> None:
    assert "CorsConfiguration" not in default.app.the_only("AWS::ApiGatewayV2::Api")


def test_sites_that_are_named_may_call(synthesise: Synthesise) -> None:
    deployment = synthesise(corsOrigins="https://a.example.com, http://localhost:5173")
    assert deployment.app.the_only("AWS::ApiGatewayV2::Api")["CorsConfiguration"] == {
        "AllowOrigins": ["https://a.example.com", "http://localhost:5173"],
        "AllowMethods": ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"],
        "AllowHeaders": ["authorization", "content-type", "idempotency-key"],
        "ExposeHeaders": ["apigw-requestid", "retry-after"],
        "MaxAge": 3600,
    }


def test_one_permission_covers_every_route(default: Deployment) -> None:
    permission = default.app.the_only("AWS::Lambda::Permission")
    assert permission["FunctionName"] == "ApiFunction.Arn"
    assert permission["Principal"] == "apigateway.amazonaws.com"
    assert permission["SourceArn"].endswith(":HttpApi/*/*/*")
    assert default.app.the_only("AWS::ApiGatewayV2::Integration")["PayloadFormatVersion"] == "2.0"


def test_the_stage_is_throttled_and_logs_neither_addresses_nor_paths(default: Deployment) -> None:
    stage = default.app.the_only("AWS::ApiGatewayV2::Stage")
    assert stage["StageName"] == "$default"
    assert stage["AutoDeploy"] is True
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 200, "ThrottlingBurstLimit": 400}
    assert stage["AccessLogSettings"]["DestinationArn"] == "HttpAccessLog.Arn"
    logged = set(json.loads(stage["AccessLogSettings"]["Format"]).values())
    assert {"$context.requestId", "$context.routeKey", "$context.status"} <= logged
    assert not any(word in value for value in logged for word in ("identity", "path", "claims", "sourceIp"))


def _routes_by_authorization(deployment: Deployment) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    routes: list[dict[str, Any]] = list(deployment.app.properties("AWS::ApiGatewayV2::Route").values())
    for route in routes:
        found.setdefault(route["AuthorizationType"], set()).add(route["RouteKey"])
    return found
