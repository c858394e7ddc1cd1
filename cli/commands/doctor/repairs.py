"""The commands that repair what `doctor` finds."""

import json
import re
import shlex
from collections.abc import Sequence
from typing import Final, Literal

from ....api.crd import NAMESPACE, SERVICE
from ....api.kinds import Kind
from ....api.paths import lookup
from ....certs.installation import Installation
from ....certs.names import CONVERT
from ....certs.state import Profile, TargetKind
from ....kube.protocol import Node
from ...installation import names
from ...installation.parts import InstalledObjects, Installer
from ...rewrite.rewrite import NotWrittenError, rewrite
from ...yaml.errors import InputError
from ...yaml.load import load_documents

PORT: Final = 443  # of the Service, as all configuration objects name it


def add_connection_flags(repair: str, kubeconfig: str, context: str) -> str:
    """Adds the flags that `doctor` was given to a command, so that it is for the cluster that was looked at."""

    def add_flags(match: re.Match[str]) -> str:
        given = (("--kubeconfig", kubeconfig), ("--kube-context" if match[2] == "helm" else "--context", context))
        return match[0] + "".join(f" {flag} {shlex.quote(value)}" for flag, value in given if value)

    return re.sub(r"(^|\| |&& )(kubectl|helm|dynamo-webhooks \w+)", add_flags, repair)


def apply_definitions(about: Installation, line: str = "") -> str:
    """Applies the definitions, of a later line if one is given; empty where they are another installation's."""
    profile = about.profile
    flags = f" --line {line}" if line else ""
    flags += "" if _is_named_as_usual(about) else f" --namespace {profile.namespace} --service {profile.service}"
    return f"dynamo-webhooks crds --cluster{flags} | kubectl apply --server-side -f -" if _converts(about) else ""


def set_version(parts: InstalledObjects, version: str, wanted: str) -> str:
    """Replaces `operator.version` in the configuration and restarts our processes; empty where the cluster's configuration has another."""
    if parts.installer is Installer.HELM:
        where = f"{parts.release} manifests/chart --namespace {parts.namespace}"
        return f"helm upgrade {where} --reuse-values --set config.operator.version={wanted}"
    text = ((parts.live.get(("ConfigMap", parts.namespace, names.CONFIG)) or {}).get("data") or {}).get(names.KEY, "")
    try:
        data = load_documents(text, names.KEY)[0].data
        if lookup(data, ("operator", "version")) != version:
            return ""
        changed = rewrite(text, [{**data, "operator": {**data["operator"], "version": wanted}}]).text
    except (InputError, NotWrittenError, IndexError):
        return ""
    edit = patch("ConfigMap", names.CONFIG, f"/data/{names.KEY}", changed, "replace", namespace=parts.namespace)
    ours = "app.kubernetes.io/part-of=dynamo-operator,app.kubernetes.io/component in (server,provisioner,reconciler)"
    return f"{edit} && kubectl -n {parts.namespace} rollout restart deployment -l '{ours}'"


def _is_named_as_usual(about: Installation) -> bool:
    return (about.profile.namespace, about.profile.service) == (NAMESPACE, SERVICE)


def _converts(about: Installation) -> bool:
    return any(kind is TargetKind.CRD for kind, _ in about.targets)


def run_certs(action: Literal["inject", "issue", "rotate"], namespace: str) -> str:
    """Writes trust into every configuration object, makes a new certificate, or exchanges the authority."""
    return f"dynamo-webhooks certs {action} --namespace {namespace}"


def restart(namespace: str, part: str) -> str:
    """Starts one of our Deployments anew."""
    return (
        f"kubectl -n {namespace} rollout restart deployment -l app.kubernetes.io/part-of=dynamo-operator,app.kubernetes.io/component={part}"
    )


def show_status(namespace: str, part: str) -> str:
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
