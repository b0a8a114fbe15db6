"""The CDK app: ``npx cdk deploy --all [-c stage=... -c auth=...]``. The options are listed in ``infra/options.py``."""

import os

import aws_cdk as cdk

from infra.app_stack import AppStack
from infra.data_stack import DataStack
from infra.options import Options, OptionsError


def build(app: cdk.App) -> tuple[DataStack, AppStack]:
    """Add both stacks. Without an account and a region from the CLI they fit any, and nothing is looked up in AWS."""
    options = Options.from_context(app.node)
    env = cdk.Environment(account=os.environ.get("CDK_DEFAULT_ACCOUNT"), region=os.environ.get("CDK_DEFAULT_REGION"))
    data = DataStack(app, "ConversationMemory-Data", options=options, env=env)
    return data, AppStack(app, "ConversationMemory-App", data=data, options=options, env=env)


if __name__ == "__main__":
    app = cdk.App()
    try:
        build(app)
    except OptionsError as error:
        raise SystemExit(f"\n{error}\n") from None
    app.synth()
