"""Which webhook is called for which kind, version and operation, and which version of a kind rules and defaults read."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from dynamo_webhooks.api.kinds import ALPHA, BETA


class Purpose(StrEnum):
    """The purpose of a webhook."""

    VALIDATE = "validate"
    MUTATE = "mutate"
    CONVERT = "convert"


# (kind, purpose) -> the version that policies read, as the Go operator registers its webhooks
READ: Final = {
    ("DynamoComponentDeployment", Purpose.VALIDATE): ALPHA,
    ("DynamoComponentDeployment", Purpose.MUTATE): BETA,
    ("DynamoGraphDeployment", Purpose.VALIDATE): ALPHA,
    ("DynamoGraphDeployment", Purpose.MUTATE): ALPHA,
    ("DynamoGraphDeploymentRequest", Purpose.VALIDATE): BETA,
    ("DynamoGraphDeploymentRequest", Purpose.MUTATE): BETA,
    ("DynamoCheckpoint", Purpose.VALIDATE): ALPHA,
    ("DynamoModel", Purpose.VALIDATE): ALPHA,
}
# kinds whose mutating webhook is called only for new objects
MUTATED_ONCE: Final = frozenset({"DynamoComponentDeployment", "DynamoGraphDeploymentRequest"})
# webhooks whose names omit the version, as in the Go operator
_BARE: Final = frozenset(
    {
        ("DynamoGraphDeployment", Purpose.MUTATE, ALPHA),
        ("DynamoGraphDeployment", Purpose.VALIDATE, ALPHA),
        ("DynamoComponentDeployment", Purpose.VALIDATE, ALPHA),
        ("DynamoGraphDeploymentRequest", Purpose.VALIDATE, BETA),
        ("DynamoCheckpoint", Purpose.VALIDATE, ALPHA),
        ("DynamoModel", Purpose.VALIDATE, ALPHA),
    }
)


def read_as(kind: str, purpose: Purpose) -> str:
    """The version in which rules or defaults read a kind; empty if it has no webhook of that purpose.

    Objects of the other version are converted first.
    """
    return READ.get((kind, purpose), "")


def webhook_name(kind: str, version: str, purpose: Purpose) -> str:
    """The registered name of a webhook."""
    suffix = "" if (kind, purpose, version) in _BARE else version
    return f"{purpose.value[0]}{kind.lower()}{suffix}.kb.io"
