"""Which ARNs a Bedrock model id stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# The first part of a system-defined inference profile's id: where its requests may go (Bedrock user guide, "Supported
# Regions and models for inference profiles"). No provider of models is called like one of them.
GLOBAL: Final = "global"
GEOGRAPHIES: Final = frozenset({"us", "us-gov", "eu", "apac", "jp", "au", "ca", GLOBAL})


@dataclass(frozen=True)
class ModelAccess:
    """What must be allowed: the models, and the profile through which they are reached, if one is."""

    models: tuple[str, ...]
    profile: str | None = None


def model_access(model_id: str, *, partition: str, region: str, account: str) -> ModelAccess:
    """Resolve the id of a model or of a system-defined inference profile, or an ARN of anything that can be invoked."""
    if model_id.startswith("arn:"):
        return _of_arn(model_id)
    geography = model_id.partition(".")[0]
    if geography in GEOGRAPHIES:
        return _of_profile(f"arn:{partition}:bedrock:{region}:{account}:inference-profile/{model_id}", partition)
    return ModelAccess((f"arn:{partition}:bedrock:{region}::foundation-model/{model_id}",))


def _of_arn(arn: str) -> ModelAccess:
    """Provisioned, custom and imported models and routers are allowed as named; profiles stand for something else."""
    _, partition, *_, resource = arn.split(":", 5)
    match resource.partition("/")[0]:
        case "inference-profile":
            return _of_profile(arn, partition)
        case "application-inference-profile":  # its ARN does not tell which model it leads to
            return ModelAccess(_everywhere("*", partition), arn)
        case _:
            return ModelAccess((arn,))


def _of_profile(arn: str, partition: str) -> ModelAccess:
    """Itself, and its model in every region that it may route to.

    Which regions these are changes without notice, so the region stays open and the caller narrows the statement to
    the profile. A global profile also asks for the model without a region (Bedrock user guide, "Global cross-Region
    inference").
    """
    geography, _, model = arn.rpartition("/")[2].partition(".")
    return ModelAccess(_everywhere(model, partition, and_nowhere=geography == GLOBAL), arn)


def _everywhere(model: str, partition: str, *, and_nowhere: bool = False) -> tuple[str, ...]:
    regions = ("*", "") if and_nowhere else ("*",)
    return tuple(f"arn:{partition}:bedrock:{region}::foundation-model/{model}" for region in regions)
