"""The commands that repair what `doctor` finds."""

import json
from typing import Final, Literal

from ....api.crd import NAMESPACE, SERVICE
from ....api.kinds import Kind
from ....certs.installation import Installation
from ....certs.names import Names
from ....certs.state import Mode, TargetKind

MANIFESTS: Final = "kubectl apply --server-side -k manifests/overlays/self-signed"


def manifests(about: Installation) -> str:
    """Applies the manifests; empty where they would make another installation of it, with other names, certificates or a wider scope."""
    called, usual = about.called, Names(NAMESPACE)
    same = all(getattr(called, part) == getattr(usual, part) for part in ("serving", "authority", "trust", "lease"))
    return MANIFESTS if same and about.mode is Mode.MANAGED and _is_named_as_usual(about) and _converts(about) else ""


def definitions(about: Installation, line: str = "") -> str:
    """Applies the definitions, of a later line if one is given; empty where they are another installation's."""
    profile = about.profile
    flags = f" --line {line}" if line else ""
    flags += "" if _is_named_as_usual(about) else f" --namespace {profile.namespace} --service {profile.service}"
    return f"dynamo-webhooks crds --cluster{flags} | kubectl apply --server-side -f -" if _converts(about) else ""


def _is_named_as_usual(about: Installation) -> bool:
    return (about.profile.namespace, about.profile.service) == (NAMESPACE, SERVICE)


def _converts(about: Installation) -> bool:
    return any(kind is TargetKind.CRD for kind, _ in about.targets)


def certs(action: Literal["inject", "issue", "rotate"], namespace: str) -> str:
    """Writes trust into every configuration object, makes a new certificate, or exchanges the authority."""
    return f"dynamo-webhooks certs {action} --namespace {namespace}"


def restart(namespace: str, part: str) -> str:
    """Starts one of our Deployments anew."""
    return (
        f"kubectl -n {namespace} rollout restart deployment -l app.kubernetes.io/part-of=dynamo-operator,app.kubernetes.io/component={part}"
    )


def status(namespace: str, part: str) -> str:
    """Shows why one of our Deployments isn't ready."""
    return f"kubectl -n {namespace} describe pods -l app.kubernetes.io/component={part}"


def migrate(kind: Kind, version: str) -> str:
    """Has the API server store every object of a kind in a version, without a change of any."""
    return f"dynamo-webhooks migrate --to {version} --kind {kind.name}"


def patch(kind: str, name: str, path: str, value: object, operation: Literal["add", "replace"] = "add") -> str:
    """Sets one field of an object."""
    return f"kubectl patch {kind.lower()} {name} --type=json -p '{json.dumps([{'op': operation, 'path': path, 'value': value}])}'"
