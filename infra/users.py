"""Who may sign in: the user pool, its client and the group of administrators."""

from __future__ import annotations

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cognito as cognito
from constructs import Construct

from infra.findings import acknowledge
from infra.options import Options

ADMINISTRATORS: Final = "admin"


class Users(Construct):
    """A pool without self sign-up, for a person and the few they invite: an administrator makes every account.

    It stands in every deployment, even where another issuer or ``auth=none`` leaves it unused (an empty pool costs
    nothing), so that switching the way of signing in never deletes anybody's account.
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        self.pool: Final = self._pool(options)
        self.client: Final = self._client()
        cognito.CfnUserPoolGroup(
            self,
            "Administrators",
            user_pool_id=self.pool.user_pool_id,
            group_name=ADMINISTRATORS,
            description="May read and change the conversations of every owner",
        )

    def _pool(self, options: Options) -> cognito.UserPool:
        pool = cognito.UserPool(
            self,
            "Pool",
            self_sign_up_enabled=False,
            sign_in_aliases=cognito.SignInAliases(username=True, email=True),
            sign_in_case_sensitive=False,
            auto_verify=cognito.AutoVerifiedAttrs(email=True),
            account_recovery=cognito.AccountRecovery.EMAIL_ONLY,
            password_policy=cognito.PasswordPolicy(
                min_length=12, require_lowercase=True, require_uppercase=True, require_digits=True, require_symbols=True
            ),
            mfa=cognito.Mfa.OPTIONAL,
            mfa_second_factor=cognito.MfaSecondFactor(sms=False, otp=True),
            deletion_protection=options.production,
            removal_policy=cdk.RemovalPolicy.RETAIN if options.production else cdk.RemovalPolicy.DESTROY,
        )
        acknowledge(pool, "COG2", because="A second factor is offered; scripts sign in with a password alone")
        acknowledge(pool, "COG8", because="The plus plan is paid by the user; there is no self sign-up to guard")
        return pool

    def _client(self) -> cognito.UserPoolClient:
        """For command lines (password) and front ends (SRP). It has no secret: a browser could not keep one."""
        return self.pool.add_client(
            "Client",
            auth_flows=cognito.AuthFlow(user_password=True, user_srp=True),
            disable_o_auth=True,
            generate_secret=False,
            prevent_user_existence_errors=True,
            enable_token_revocation=True,
        )
