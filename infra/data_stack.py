"""The stack of what must not be lost: tables, bodies, users."""

from __future__ import annotations

import aws_cdk as cdk
from constructs import Construct

from infra.bodies import Bodies
from infra.options import Options
from infra.tables import conversations_table, messages_table
from infra.users import Users


class DataStack(cdk.Stack):
    """Everything stateful, apart from what runs, so that the latter can be destroyed and made again at any time.

    The app stack refers to it by CloudFormation exports: CloudFormation then refuses to replace or remove what a
    deployed function still uses. In production the stack itself is protected from being destroyed, too.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, options: Options, env: cdk.Environment | None = None
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            env=env,
            description="Conversation memory: tables, large bodies, users",
            termination_protection=options.production,
        )
        self.messages = messages_table(self, options=options)
        self.conversations = conversations_table(self, options=options)
        self.bodies = Bodies(self, "Bodies", options=options)
        self.users = Users(self, "Users", options=options)
