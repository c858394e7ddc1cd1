"""Ways to break an installation; what `doctor` finds and how it is repaired is the table of docs/commands/doctor.md."""

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

CRD: Final = "crd dynamographdeploymentscalingadapters.nvidia.com"
ANNOTATION: Final = "/metadata/annotations/webhooks.nvidia.com~1allow-data-loss"
VALIDATING: Final = "validatingwebhookconfiguration dynamo-webhooks-validating"
RESTORED: Final = "dynamo-webhooks doctor --namespace dynamo-system --print {} | kubectl apply -f -"
DEPLOYMENT: Final = """kubectl create -f - <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: platform}}
spec:
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}, {label}: ""}}}}
    spec:
      securityContext: {{runAsNonRoot: true, runAsUser: 1, seccompProfile: {{type: RuntimeDefault}}}}
      containers:
        - name: manager
          image: registry.example/operator:1
          args: [{args}]
          securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}
END"""


def _patch(target: str, path: str, value: object = None) -> str:
    """The command that puts a value into an object, or takes away what is there for None."""
    change = {"op": "remove", "path": path} if value is None else {"op": "replace", "path": path, "value": value}
    return f"kubectl patch {target} --type=json -p '{json.dumps([change])}'"


class Breakage(NamedTuple):
    """One thing that is wrong."""

    cause: str
    check: str
    repair: str  # the command's beginning and, after `...`, its end
    breaking: str  # a shell command, or the name of a function of the test module
    words: str  # of the finding


# cause -> what brings it about, and words of the finding
BREAKING: Final[dict[str, tuple[str, str]]] = {
    "the certificate has expired": ("expire", "has expired"),
    "a `caBundle` holds another authority": ("distrust", "holds others"),
    "a definition lost its conversion": (
        f"""kubectl patch {CRD} --type=json -p '[{{"op": "add", "path": "{ANNOTATION}", "value": "true"}},
            {{"op": "replace", "path": "/spec/conversion", "value": {{"strategy": "None"}}}}]'
            kubectl annotate {CRD} --overwrite webhooks.nvidia.com/allow-data-loss=false""",
        "must call the Service",
    ),
    "conversion calls another port": (_patch(CRD, "/spec/conversion/webhook/clientConfig/service/port", 444), "must call port 443"),
    "the Service is deleted": ("kubectl -n dynamo-system delete service dynamo-webhooks", "is not there"),
    "a webhook configuration is deleted": (f"kubectl delete {VALIDATING}", "nothing is validated or defaulted"),
    "`failurePolicy` is Ignore": (_patch(VALIDATING, "/webhooks/0/failurePolicy", "Ignore"), "failurePolicy is Ignore"),
    **{
        f"the ClusterRoleBinding of the {part} is deleted": (
            f"kubectl delete clusterrolebinding dynamo-webhooks-{part}",
            f"ServiceAccount dynamo-webhooks-{part} must be allowed",
        )
        for part in ("server", "provisioner", "reconciler")
    },
    "the reconciler's Deployment is deleted": (
        "kubectl -n dynamo-system delete deployment dynamo-webhooks-reconciler",
        "nothing runs them",
    ),
    "a second operator runs": (
        DEPLOYMENT.format(name="platform-operator", label="tier", args="--operator-version=1.2.0"),
        "runs graphs too",
    ),
    "a second operator of another build holds the Go operator's Lease": (
        DEPLOYMENT.format(name="fork", label="custom-operator", args=""),
        "and renewed. Deployment platform/fork",
    ),
    "the provisioner hangs, and its Lease is stale": ("hang", "has not renewed it"),
    "the Service selects other pods": (
        """kubectl -n dynamo-system patch service dynamo-webhooks -p '{"spec": {"selector": {"app.kubernetes.io/component": "web"}}}'""",
        "spec.selector must select the server's pods",
    ),
    "a network policy denies everything, and ours is gone": (
        """kubectl -n dynamo-system delete networkpolicy dynamo-webhooks-server; kubectl create -f - <<'END'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: dynamo-system}
spec: {podSelector: {}, policyTypes: [Ingress]}
END""",
        "API servers can't reach them",
    ),
    "pod security refuses the pods": (
        _patch("-n dynamo-system deployment dynamo-webhooks-server", "/spec/template/spec/containers/0/securityContext"),
        "refused by pod security",
    ),
    "the image can't be pulled": (
        "kubectl -n dynamo-system set image deployment/dynamo-webhooks-server server=registry.example/missing:1",
        "can't be pulled (ImagePullBackOff)",
    ),
    "a service account is deleted": ("kubectl -n dynamo-system delete serviceaccount dynamo-webhooks-server", "no new pod"),
    "a Role lost its rules": (
        """kubectl -n dynamo-system patch role dynamo-webhooks-server --type=merge -p '{"rules": []}'""",
        "rules must grant",
    ),
    "a binding names another account": (
        _patch("clusterrolebinding dynamo-webhooks-server", "/subjects/0/name", "x"),
        "subjects must name the account",
    ),
    "the guard's binding is deleted": ("kubectl delete validatingadmissionpolicybinding dynamo-webhooks-definitions", "is not there"),
    "a webhook entry is missing": (_patch(VALIDATING, "/webhooks/0"), "no entry leads to"),
    "a webhook entry doesn't match updates": (_patch(VALIDATING, "/webhooks/0/rules/0/operations", ["CREATE"]), "must match UPDATE"),
    "the server is scaled to zero": (
        "kubectl -n dynamo-system scale deployment dynamo-webhooks-server --replicas=0",
        "spec.replicas must be at least 1",
    ),
    "conversion calls another Service": (
        _patch(CRD, "/spec/conversion/webhook/clientConfig/service/name", "somebody"),
        "calls another one",
    ),
    "a webhook configuration of a removed operator is left": (
        """kubectl create -f - <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: platform-validating}
webhooks:
  - name: platform.example.com
    clientConfig: {service: {name: gone, namespace: platform}}
    rules: [{apiGroups: [nvidia.com], apiVersions: [v1beta1], operations: [CREATE], resources: [dynamomodels]}]
    sideEffects: None
    admissionReviewVersions: [v1]
END""",
        "platform/gone is not there",
    ),
    "the Service leads to a port that no container has": (
        _patch("-n dynamo-system service dynamo-webhooks", "/spec/ports/0/targetPort", "https"),
        "targetPort must be a port",
    ),
    "`operator.version` is of a later operator release than the definitions": ("upgrade", "must be of one operator release"),
    "`operator.version` is of an earlier operator release than the definitions": ("downgrade", "must be of one operator release"),
}
# tried while the provisioner is stopped, or it would repair faster than anybody can look
PAUSED: Final = ("the certificate has expired", "a `caBundle` holds another authority", "a definition lost its conversion")
_PAGE: Final = Path(__file__).parents[3] / "docs" / "commands" / "doctor.md"
_ROWS: Final = re.findall(r"^\| (.+) \| `([a-z-]+)` \| `(.+)` \|$", _PAGE.read_text(), re.MULTILINE)
# in the order of the page, whose last one stays last, because definitions are never lowered
BREAKAGES: Final = [Breakage(cause, check, repair.replace("\\|", "|"), *BREAKING[cause]) for cause, check, repair in _ROWS]
