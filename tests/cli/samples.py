"""Objects that several tests check."""

from typing import Final

IMAGE: Final = 'extraPodSpec: {mainContainer: {image: "x/vllm:1.5.0"}}'  # of a component; its tag tells the runtime's version

GOOD: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: good
  namespace: llm
spec:
  services:
    worker:
      componentType: worker
      replicas: 2
      extraPodSpec: {mainContainer: {image: "x/vllm:1.5.0"}}
"""

# as authors for line 1.2 write it, and without what conversion keeps in an annotation
BARE: Final = GOOD.replace(f"      {IMAGE}\n", "")

# one finding of the policies, on line 10 at the value
BAD: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: bad
  namespace: llm
spec:
  services:
    worker:
      componentType: worker
      ingress: {enabled: true}
      extraPodSpec: {mainContainer: {image: "x/vllm:1.5.0"}}
"""
BAD_RULE: Final = "ingress-host-required"
BAD_CODE: Final = "DYN202"

# a warning of the policies
WARNED: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: warned, namespace: llm}
spec:
  services:
    worker:
      componentType: worker
      dynamoNamespace: old
      extraPodSpec: {mainContainer: {image: "x/vllm:1.5.0"}}
"""

BETA: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: beta, namespace: llm}
spec:
  components:
    - {name: w, type: worker, podTemplate: {spec: {containers: [{name: main, image: "x/vllm:1.5.0"}]}}}
"""

# a rule that needs the fact grove
NEEDS_GROVE: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: graph, namespace: llm}
spec:
  priorityClassName: high
  services: {worker: {componentType: worker, extraPodSpec: {mainContainer: {image: "x/vllm:1.5.0"}}}}
"""

MAIN: Final = 'podTemplate: {spec: {containers: [{name: main, image: "x/vllm:1.5.0"}]}}'  # of a component of v1beta1


def manifest(kind: str, version: str, spec: str, name: str = "g") -> str:
    """An object; `spec` is in braces, or a block below its field."""
    return f"apiVersion: nvidia.com/{version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: llm}}\nspec: {spec}\n"


def graph(*components: str, version: str = "v1beta1", more: str = "") -> str:
    """A graph of components, each the inside of braces on a line of its own; `more` are lines of its spec before them."""
    head = f"\n{more}  components:\n"
    return manifest("DynamoGraphDeployment", version, head + "\n".join(f"    - {{{component}}}" for component in components))


OTHER_KIND: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"

MODEL: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata: {name: m, namespace: llm}
spec: {modelName: a, baseModelName: b}
"""

BY_DEFAULT: Final = "checked for operator 1.6 (the default; --line names another)"  # in the summary of `check`
