"""What MiniStack's CloudFormation (1.5.33) drops from the template is set again through the service's own API.

`CorsConfiguration` is stored in a form that its gateway cannot read: preflights are answered with 403. The time to live
of the tables is dropped too, and left off: MiniStack's reaper deletes without a stream record, so cleanup would
never hear of it (`leftovers.py` takes its place).
"""

from infra.local.clients import client
from infra.local.deployment import Deployment


def mend(deployment: Deployment, api_id: str) -> None:
    """Give the HTTP API the CORS rules of its template."""
    for properties in deployment.resources_of_type("AWS::ApiGatewayV2::Api"):
        if rules := properties.get("CorsConfiguration"):
            client("apigatewayv2", deployment.endpoint_url).update_api(ApiId=api_id, CorsConfiguration=rules)
