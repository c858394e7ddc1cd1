"""Policies that several tests write."""

from typing import Any, Final

import yaml

from tests.cli.samples import GOOD

PROJECT: Final = ".dynamo-webhooks.yaml"
GRAPH: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat
  namespace: llm
spec:
  components:
  - name: worker
    type: worker
    replicas: 3
    podTemplate:
      spec:
        containers:
        - name: main
          image: x/vllm:1.5.0
"""
OLDER: Final = GOOD.replace("good", "chat").replace("replicas: 2", "replicas: 3")
FEW: Final = "object.spec.components.all(c, c.replicas < 3)"


def policy(expression: str = FEW, name: str = "few", kind: str = "ValidatingAdmissionPolicy", **spec: Any) -> str:
    """A policy about graphs with one validation."""
    rule = {
        "apiGroups": ["nvidia.com"],
        "apiVersions": ["v1beta1"],
        "operations": ["CREATE", "UPDATE"],
        "resources": ["dynamographdeployments"],
    }
    whole = {
        "apiVersion": "dynamo-webhooks/v1" if kind == "Check" else "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": f"breaks {name}"}],
            **spec,
        },
    }
    return yaml.safe_dump(whole, sort_keys=False)


def binding(policy: str = "few", actions: tuple[str, ...] = ("Deny",), **spec: Any) -> str:
    """A binding of it."""
    whole = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{policy}-binding"},
        "spec": {"policyName": policy, "validationActions": list(actions), **spec},
    }
    return f"---\n{yaml.safe_dump(whole)}"
