"""The HTTP API in front of the api function."""

from __future__ import annotations

import json
from typing import Final

import aws_cdk as cdk
import jsii
from aws_cdk import aws_apigatewayv2 as apigateway
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk.aws_apigateway import AccessLogFormat
from constructs import Construct

from infra.findings import acknowledge
from infra.logs import log_group
from infra.options import Options
from infra.users import Users

# Without OPTIONS (and so not ANY): a route for it would ask preflight requests for a token that browsers do not send.
METHODS: Final = [
    apigateway.HttpMethod.GET,
    apigateway.HttpMethod.POST,
    apigateway.HttpMethod.PUT,
    apigateway.HttpMethod.PATCH,
    apigateway.HttpMethod.DELETE,
    apigateway.HttpMethod.HEAD,
]
PUBLIC: Final = ("/status", "/openapi.json")

# A brake on cost, far above what a person's applications need; without it the account's 10,000 a second apply.
THROTTLE: Final = apigateway.ThrottleSettings(rate_limit=200, burst_limit=400)

# Ids, outcomes and times. No path (it holds conversation ids), no address, no claims.
ACCESS_LOG: Final = {
    "requestId": "$context.requestId",
    "requestTime": "$context.requestTime",
    "routeKey": "$context.routeKey",
    "status": "$context.status",
    "responseLength": "$context.responseLength",
    "responseLatency": "$context.responseLatency",
    "integrationStatus": "$context.integration.status",
    "integrationRequestId": "$context.integration.requestId",
    "integrationError": "$context.integrationErrorMessage",
    "authorizerError": "$context.authorizer.error",
}


class ConversationsApi(Construct):
    """Greedy routes, since the function does the routing: one behind the users' authorizer, one behind IAM, two public.

    A route of its own for everything would also need a permission of its own, and at about 30 routes the function's
    policy is full (20 KB, Lambda quotas); one permission covers the whole API.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, function: lambda_.IFunction, users: Users, options: Options
    ) -> None:
        super().__init__(scope, construct_id)
        self.api: Final = apigateway.HttpApi(
            self,
            "Api",
            description="Conversation memory",
            create_default_stage=False,
            cors_preflight=_cors(options.cors_origins),
        )
        self._stage(options)
        self._integration: Final = integrations.HttpLambdaIntegration(
            "Function", function, scope_permission_to_route=False
        )
        signed_in = _authorizer(users, options)
        if signed_in is None:
            cdk.Annotations.of(self).add_warning_v2(
                "conversation-memory:open", "auth=none: whoever knows the URL reads and changes every conversation."
            )
        for path in ("/", "/{proxy+}"):
            self._route(path, METHODS, signed_in)
        self._route("/service/{proxy+}", METHODS, authorizers.HttpIamAuthorizer())
        for path in PUBLIC:
            self._route(path, [apigateway.HttpMethod.GET], None)

    def _route(
        self, path: str, methods: list[apigateway.HttpMethod], authorizer: apigateway.IHttpRouteAuthorizer | None
    ) -> None:
        routes = self.api.add_routes(path=path, methods=methods, integration=self._integration, authorizer=authorizer)
        if authorizer is None:
            for route in routes:
                acknowledge(route, "APIG4", because="Public on purpose: see PUBLIC, and the option auth=none")

    def _stage(self, options: Options) -> None:
        apigateway.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            throttle=THROTTLE,
            access_log_settings=AccessLog(log_group(self, "AccessLog", options=options)),
        )


@jsii.implements(apigateway.IAccessLogSettings)
class AccessLog:
    """One JSON document a request."""

    def __init__(self, group: logs.ILogGroup) -> None:
        self._destination: Final = apigateway.LogGroupLogDestination(group)

    @property
    def destination(self) -> apigateway.IAccessLogDestination:
        return self._destination

    @property
    def format(self) -> AccessLogFormat:
        return AccessLogFormat.custom(json.dumps(ACCESS_LOG))


def _authorizer(users: Users, options: Options) -> apigateway.IHttpRouteAuthorizer | None:
    if options.auth == "none":
        return None
    if options.issuer:
        return authorizers.HttpJwtAuthorizer("Issuer", options.issuer, jwt_audience=list(options.audience))
    return authorizers.HttpUserPoolAuthorizer("Users", users.pool, user_pool_clients=[users.client])


def _cors(origins: tuple[str, ...]) -> apigateway.CorsPreflightOptions | None:
    if not origins:
        return None
    return apigateway.CorsPreflightOptions(
        allow_origins=list(origins),
        allow_methods=[apigateway.CorsHttpMethod[method.name] for method in METHODS],
        allow_headers=["authorization", "content-type", "idempotency-key"],
        expose_headers=["apigw-requestid", "retry-after"],
        max_age=cdk.Duration.hours(1),
    )
