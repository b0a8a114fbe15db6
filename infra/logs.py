"""Log groups of the stack's own, so that logs end: those that Lambda makes by itself are kept for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aws_cdk as cdk
from aws_cdk import aws_logs as logs
from constructs import Construct

if TYPE_CHECKING:
    from infra.options import Options

# The only periods that CloudWatch Logs accepts (PutRetentionPolicy), in days.
RETENTION: Final = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    120: logs.RetentionDays.FOUR_MONTHS,
    150: logs.RetentionDays.FIVE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    400: logs.RetentionDays.THIRTEEN_MONTHS,
    545: logs.RetentionDays.EIGHTEEN_MONTHS,
    731: logs.RetentionDays.TWO_YEARS,
    1096: logs.RetentionDays.THREE_YEARS,
    1827: logs.RetentionDays.FIVE_YEARS,
    2192: logs.RetentionDays.SIX_YEARS,
    2557: logs.RetentionDays.SEVEN_YEARS,
    2922: logs.RetentionDays.EIGHT_YEARS,
    3288: logs.RetentionDays.NINE_YEARS,
    3653: logs.RetentionDays.TEN_YEARS,
}


def log_group(scope: Construct, construct_id: str, *, options: Options) -> logs.LogGroup:
    """Logs hold ids and counts, no text of a message, so they go with their stack in every stage but production."""
    return logs.LogGroup(
        scope,
        construct_id,
        retention=RETENTION[options.log_retention_days],
        removal_policy=cdk.RemovalPolicy.RETAIN if options.production else cdk.RemovalPolicy.DESTROY,
    )
