"""Which webhook is called for which kind, version and operation, and which version of a kind rules and defaults read."""

from enum import StrEnum
from functools import cache
from typing import Final

from ..api.kinds import ALPHA, BETA, BY_NAME, GAMMA


class Purpose(StrEnum):
    """The purpose of a webhook."""

    VALIDATE = "validate"
    MUTATE = "mutate"
    CONVERT = "convert"
    RESTORE = "restore"


# on Python 3.11 the member of an enumeration takes a microsecond to find
VALIDATE: Final = Purpose.VALIDATE
MUTATE: Final = Purpose.MUTATE
CONVERT: Final = Purpose.CONVERT
RESTORE: Final = Purpose.RESTORE
# the version that rules and defaults read; a kind without it is read in its only version
HUB: Final = BETA
# the webhooks that there are
WEBHOOKS: Final = (
    ("DynamoComponentDeployment", VALIDATE),
    ("DynamoComponentDeployment", MUTATE),
    ("DynamoGraphDeployment", VALIDATE),
    ("DynamoGraphDeployment", MUTATE),
    ("DynamoGraphDeploymentRequest", VALIDATE),
    ("DynamoGraphDeploymentRequest", MUTATE),
    ("DynamoCheckpoint", VALIDATE),
    ("DynamoModel", VALIDATE),
)
# kinds and versions of which only the owner is validated, see ownership.py
OWNED: Final = (("DynamoGraphDeploymentRequest", GAMMA),)
# kinds whose mutating webhook is called only for new objects
MUTATED_ONCE: Final = frozenset({"DynamoComponentDeployment", "DynamoGraphDeploymentRequest"})
# webhooks whose names omit the version, as in the Go operator
_BARE: Final = frozenset(
    {
        ("DynamoGraphDeployment", MUTATE, ALPHA),
        ("DynamoGraphDeployment", VALIDATE, ALPHA),
        ("DynamoComponentDeployment", VALIDATE, ALPHA),
        ("DynamoGraphDeploymentRequest", VALIDATE, BETA),
        ("DynamoCheckpoint", VALIDATE, ALPHA),
        ("DynamoModel", VALIDATE, ALPHA),
    }
)


@cache
def find_rule_version(kind: str, purpose: Purpose) -> str:
    """The version in which rules or defaults read a kind, to which objects are converted first; empty if it has no such webhook."""
    if (kind, purpose) not in WEBHOOKS:
        return ""
    known = BY_NAME[kind]
    return HUB if known.has(HUB) else known.versions[0].name


def webhook_name(kind: str, version: str, purpose: Purpose) -> str:
    """The registered name of a webhook."""
    suffix = "" if (kind, purpose, version) in _BARE else version
    return f"{purpose.value[0]}{kind.lower()}{suffix}.kb.io"
