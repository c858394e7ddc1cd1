"""Which webhook is asked about which kind, version and operation, and in which version rules and defaults read the kind."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from dynamo_webhooks.api.kinds import ALPHA, BETA


class Purpose(StrEnum):
    """What a webhook is for."""

    VALIDATE = "validate"
    MUTATE = "mutate"
    CONVERT = "convert"


# (kind, purpose) -> the version whose text the policies read: where the Go operator registers its webhooks
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
# kinds whose mutating webhook is asked about new objects alone
MUTATED_ONCE: Final = frozenset({"DynamoComponentDeployment", "DynamoGraphDeploymentRequest"})
# webhooks whose names have nothing behind the kind, as the Go operator registers them; the others have the version there
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
    """The version in which rules or defaults read a kind; empty where no webhook of that purpose is registered for it.

    Where it is another than the object's, the object is converted first.
    """
    return READ.get((kind, purpose), "")


def webhook_name(kind: str, version: str, purpose: Purpose) -> str:
    """The name under which a webhook is registered."""
    suffix = "" if (kind, purpose, version) in _BARE else version
    return f"{purpose.value[0]}{kind.lower()}{suffix}.kb.io"
