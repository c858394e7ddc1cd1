"""The commands that repair what `doctor` finds."""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Final, Literal

from ....api.crd import NAMESPACE, SERVICE
from ....api.kinds import Kind
from ....certs.installation import Installation
from ....certs.names import CONVERT
from ....certs.state import Profile, TargetKind
from ....kube.protocol import Node

PORT: Final = 443  # of the Service, as all configuration objects name it


def addressed(repair: str, kubeconfig: str, context: str) -> str:
    """The same command for the cluster that was looked at: with the flags that `doctor` was given."""
    given = (("--kubeconfig", kubeconfig), ("--context", context))
    words = "".join(f" {flag} {shlex.quote(value)}" for flag, value in given if value)
    return re.sub(r"(^|\| |&& )(kubectl|dynamo-webhooks \w+)", lambda found: f"{found[0]}{words}", repair)


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


def patch(kind: str, name: str, path: str, value: object, operation: Literal["add", "replace"] = "add", *, namespace: str = "") -> str:
    """Sets one field of an object."""
    return patch_all(kind, name, [{"op": operation, "path": path, "value": value}], namespace=namespace)


def patch_all(kind: str, name: str, changes: Sequence[Node], *, namespace: str = "") -> str:
    """Changes some fields of an object."""
    where = f"-n {namespace} " if namespace else ""
    return f"kubectl {where}patch {kind.lower()} {name} --type=json -p {shlex.quote(json.dumps(changes))}"


def convert_by(definition: str, profile: Profile) -> str:
    """Has a definition call our Service for conversion."""
    service = {"name": profile.service, "namespace": profile.namespace, "path": CONVERT, "port": PORT}
    return patch(TargetKind.CRD, definition, "/spec/conversion/webhook/clientConfig/service", service)
