"""Whole objects for an empty text; `${1:usual}` is what their author writes."""

from typing import Final

SKELETONS: Final = {
    "DynamoGraphDeployment": """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: ${1:my-graph}
spec:
  components:
  - name: frontend
    type: frontend
    replicas: 1
    podTemplate:
      spec:
        containers:
        - name: main
          image: ${2:registry.example.com/vllm-runtime:1.6.0}
  - name: worker
    type: worker
    replicas: 1
    podTemplate:
      spec:
        containers:
        - name: main
          image: ${2:registry.example.com/vllm-runtime:1.6.0}
          resources:
            limits:
              nvidia.com/gpu: "1"
""",
    "DynamoGraphDeploymentRequest": """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata:
  name: ${1:my-request}
spec:
  model: ${2:Qwen/Qwen3-0.6B}
""",
}
