"""What accounts asked an API server for, by its audit log."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

Node = dict[str, Any]
_LOG: Final = "audit.log"


class Call(NamedTuple):
    """One sort of request."""

    verb: str
    group: str
    resource: str


class Calls(NamedTuple):
    """What was done, and what was refused for want of rights, with the API server's sentence."""

    done: set[Call]
    refused: set[tuple[Call, str]]


def audit_flags(home: Path, *users: str) -> tuple[str, ...]:
    """The flags of an API server that notes each request of the users in a folder."""
    rule = {"level": "Metadata", "users": list(users)}
    policy = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [rule]}
    (home / "policy.yaml").write_text(json.dumps(policy))
    return (f"--audit-policy-file={home / 'policy.yaml'}", f"--audit-log-path={home / _LOG}", "--audit-log-mode=blocking")


def read_calls(home: Path, user: str) -> Calls:
    """The requests of a user; an apply that makes an object needs to be allowed to create it, too."""
    requests = Calls(set(), set())
    for line in (home / _LOG).read_text().splitlines():
        event: Node = json.loads(line)
        about = event.get("objectRef") or {}
        if event["user"]["username"] != user or "resource" not in about:
            continue
        part = f"/{about['subresource']}" if about.get("subresource") else ""
        call = Call(event["verb"], about.get("apiGroup", ""), about["resource"] + part)
        code = event["responseStatus"]["code"]
        if code == 403:
            requests.refused.add((call, event["responseStatus"].get("message", "")))
            continue
        requests.done.add(call)
        if code == 201:
            requests.done.add(call._replace(verb="create"))
    return requests


def calls(group: str, resource: str, verbs: Sequence[str]) -> set[Call]:
    """Calls by their verbs."""
    return {Call(verb, group, resource) for verb in verbs}
