"""Ways to break an installation, each with what `doctor` finds and repairs. docs/commands/doctor.md has the same table."""

from typing import Final, NamedTuple

CRD: Final = "kubectl patch crd dynamographdeploymentscalingadapters.nvidia.com --type=json -p "
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


class Breakage(NamedTuple):
    """One thing that is wrong."""

    cause: str
    breaking: str  # a shell command, or the name of a function of the test module
    check: str
    words: str  # of the finding
    repair: str  # the command's beginning and, after `...`, its end
    paused: bool = False  # while the provisioner is stopped, or it would repair faster than anybody can look


BREAKAGES: Final = (
    Breakage("the certificate has expired", "expire", "certificate", "has expired", "dynamo-webhooks certs issue ...", True),
    Breakage("a `caBundle` holds another authority", "distrust", "trust", "holds others", "dynamo-webhooks certs inject ...", True),
    Breakage(
        "a definition lost its conversion",
        f"""{CRD}'[{{"op": "add", "path": "{ANNOTATION}", "value": "true"}},
            {{"op": "replace", "path": "/spec/conversion", "value": {{"strategy": "None"}}}}]'
            kubectl annotate crd dynamographdeploymentscalingadapters.nvidia.com --overwrite webhooks.nvidia.com/allow-data-loss=false""",
        "conversion",
        "must call the Service",
        "dynamo-webhooks certs inject ...",
        True,
    ),
    Breakage(
        "conversion calls another port",
        CRD + """'[{"op": "replace", "path": "/spec/conversion/webhook/clientConfig/service/port", "value": 444}]'""",
        "conversion",
        "must call port 443",
        "kubectl patch customresourcedefinition ...",
    ),
    Breakage(
        "the Service is deleted",
        "kubectl -n dynamo-system delete service dynamo-webhooks",
        "endpoints",
        "is not there",
        RESTORED.format("Service/dynamo-webhooks"),
    ),
    Breakage(
        "a webhook configuration is deleted",
        f"kubectl delete {VALIDATING}",
        "configurations",
        "nothing is validated or defaulted",
        RESTORED.format("ValidatingWebhookConfiguration/dynamo-webhooks-validating"),
    ),
    Breakage(
        "`failurePolicy` is Ignore",
        f"""kubectl patch {VALIDATING} --type=json -p '[{{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}}]'""",
        "configurations",
        "failurePolicy is Ignore",
        "kubectl patch validatingwebhookconfiguration ...",
    ),
    *(
        Breakage(
            f"the ClusterRoleBinding of the {part} is deleted",
            f"kubectl delete clusterrolebinding dynamo-webhooks-{part}",
            "rights",
            f"ServiceAccount dynamo-webhooks-{part} must be allowed",
            RESTORED.format(f"ClusterRoleBinding/dynamo-webhooks-{part}"),
        )
        for part in ("server", "provisioner", "reconciler")
    ),
    Breakage(
        "the reconciler's Deployment is deleted",
        "kubectl -n dynamo-system delete deployment dynamo-webhooks-reconciler",
        "workloads",
        "nothing runs them",
        RESTORED.format("Deployment/dynamo-webhooks-reconciler"),
    ),
    Breakage(
        "a second operator runs",
        DEPLOYMENT.format(name="platform-operator", label="tier", args="--operator-version=1.2.0"),
        "operators",
        "runs graphs too",
        "kubectl -n platform scale deployment platform-operator --replicas=0",
    ),
    Breakage(
        "a second operator of another build holds the Go operator's Lease",
        DEPLOYMENT.format(name="fork", label="custom-operator", args=""),
        "operators",
        "and renewed. Deployment platform/fork",
        "kubectl -n platform scale deployment fork --replicas=0",
    ),
    Breakage(
        "the provisioner hangs, and its Lease is stale",
        "hang",
        "provisioner",
        "has not renewed it",
        "kubectl -n dynamo-system rollout restart ...",
    ),
    Breakage(
        "the Service selects other pods",
        """kubectl -n dynamo-system patch service dynamo-webhooks -p '{"spec": {"selector": {"app.kubernetes.io/component": "web"}}}'""",
        "endpoints",
        "spec.selector must select the server's pods",
        "kubectl -n dynamo-system patch service dynamo-webhooks ...",
    ),
    Breakage(
        "a network policy denies everything, and ours is gone",
        """kubectl -n dynamo-system delete networkpolicy dynamo-webhooks-server; kubectl create -f - <<'END'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: default-deny, namespace: dynamo-system}
spec: {podSelector: {}, policyTypes: [Ingress]}
END""",
        "network",
        "API servers can't reach them",
        RESTORED.format("NetworkPolicy/dynamo-webhooks-server"),
    ),
    Breakage(
        "pod security refuses the pods",
        """kubectl -n dynamo-system patch deployment dynamo-webhooks-server --type=json -p \
        '[{"op": "remove", "path": "/spec/template/spec/containers/0/securityContext"}]'""",
        "workloads",
        "refused by pod security",
        "kubectl -n dynamo-system patch deployment dynamo-webhooks-server ...",
    ),
    Breakage(
        "the image can't be pulled",
        "kubectl -n dynamo-system set image deployment/dynamo-webhooks-server server=registry.example/missing:1",
        "workloads",
        "can't be pulled (ImagePullBackOff)",
        "kubectl -n dynamo-system set image deployment/dynamo-webhooks-server server=registry.example/dynamo-webhooks:0.1.0",
    ),
    Breakage(
        "a service account is deleted",
        "kubectl -n dynamo-system delete serviceaccount dynamo-webhooks-server",
        "rights",
        "no new pod",
        RESTORED.format("ServiceAccount/dynamo-webhooks-server"),
    ),
    Breakage(
        "a Role lost its rules",
        """kubectl -n dynamo-system patch role dynamo-webhooks-server --type=merge -p '{"rules": []}'""",
        "rights",
        "rules must grant",
        "kubectl -n dynamo-system patch role dynamo-webhooks-server ...",
    ),
    Breakage(
        "a binding names another account",
        """kubectl patch clusterrolebinding dynamo-webhooks-server --type=json -p \
        '[{"op": "replace", "path": "/subjects/0/name", "value": "x"}]'""",
        "rights",
        "subjects must name the account",
        "kubectl patch clusterrolebinding dynamo-webhooks-server ...",
    ),
    Breakage(
        "the guard's binding is deleted",
        "kubectl delete validatingadmissionpolicybinding dynamo-webhooks-definitions",
        "guard",
        "is not there",
        RESTORED.format("ValidatingAdmissionPolicyBinding/dynamo-webhooks-definitions"),
    ),
    Breakage(
        "a webhook entry is missing",
        f"""kubectl patch {VALIDATING} --type=json -p '[{{"op": "remove", "path": "/webhooks/0"}}]'""",
        "configurations",
        "no entry leads to",
        "kubectl patch validatingwebhookconfiguration ...",
    ),
    Breakage(
        "a webhook entry doesn't match updates",
        f"""kubectl patch {VALIDATING} --type=json -p \
        '[{{"op": "replace", "path": "/webhooks/0/rules/0/operations", "value": ["CREATE"]}}]'""",
        "configurations",
        "must match UPDATE",
        "kubectl patch validatingwebhookconfiguration ...",
    ),
    Breakage(
        "the server is scaled to zero",
        "kubectl -n dynamo-system scale deployment dynamo-webhooks-server --replicas=0",
        "workloads",
        "spec.replicas must be at least 1",
        "kubectl -n dynamo-system scale deployment dynamo-webhooks-server --replicas=1",
    ),
    Breakage(
        "conversion calls another Service",
        CRD + """'[{"op": "replace", "path": "/spec/conversion/webhook/clientConfig/service/name", "value": "somebody"}]'""",
        "conversion",
        "calls another one",
        "kubectl patch customresourcedefinition ...",
    ),
    Breakage(
        "a webhook configuration of a removed operator is left",
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
        "operators",
        "platform/gone is not there",
        "kubectl delete validatingwebhookconfiguration platform-validating",
    ),
    Breakage(
        "the Service leads to a port that no container has",
        """kubectl -n dynamo-system patch service dynamo-webhooks --type=json -p \
        '[{"op": "replace", "path": "/spec/ports/0/targetPort", "value": "https"}]'""",
        "endpoints",
        "targetPort must be a port",
        "kubectl -n dynamo-system patch service dynamo-webhooks ...",
    ),
    # the last, because definitions are never lowered
    Breakage(
        "`operator.version` is of a later operator release than the definitions",
        "upgrade",
        "line",
        "must be of one operator release",
        "dynamo-webhooks crds --cluster --line 1.5 | kubectl apply --server-side -f -",
    ),
    Breakage(
        "`operator.version` is of an earlier operator release than the definitions",
        "downgrade",
        "line",
        "must be of one operator release",
        "kubectl -n dynamo-system patch configmap dynamo-webhooks-config ...",
    ),
)
