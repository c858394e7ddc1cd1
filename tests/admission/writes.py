"""Writes as an API server takes them through the stages of admission, on copies of the objects."""

from copy import deepcopy
from typing import Any

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.policies.answer import REFUSING
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE


def sent(obj: dict[str, Any], old: dict[str, Any] | None = None, *, facts: Facts, user: str = "jane") -> Admission:
    """A creation, or an update of an old object, before its first stage."""
    kind, version = obj["kind"], obj["apiVersion"].rpartition("/")[2]
    operation = CREATE if old is None else UPDATE
    return Admission(kind, version, operation, deepcopy(obj), deepcopy(old), user=user, settings=Settings(facts))


def defaulted(obj: dict[str, Any], old: dict[str, Any] | None = None, *, facts: Facts, user: str = "jane") -> Admission:
    """The same with the defaults of all; its types are right."""
    write = sent(obj, old, facts=facts, user=user)
    assert not write.decode_metadata()
    write.shape()
    assert not (wrong := write.decode()), wrong
    if write.mutated:
        write.mutate()
    return write


def list_refusals(write: Admission) -> list[str]:
    """The names of what refuses a write with its defaults; "schema" alone for the definition, behind which no webhook is asked."""
    if write.conform():
        return ["schema"]
    return sorted({finding.rule.name for finding in write.judge() if finding.level in REFUSING})
