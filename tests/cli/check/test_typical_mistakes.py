"""Typical mistakes of people in a graph: each is one finding, at its place, with the whole message and the right remedy."""

from typing import Final

from dynamo_webhooks.policies.catalogue import find_rule
from tests.cli.conftest import Command, Files
from tests.rows import run_each

GRAPH: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: chat
  namespace: llm
spec:
  backendFramework: vllm
  components:
    - name: frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: registry.example.com/vllm-runtime:1.5.0
    - name: worker
      type: worker
      replicas: 2
      podTemplate:
        spec:
          containers:
            - name: main
              image: registry.example.com/vllm-runtime:1.5.0
              args: ["--model", "x"]
              env:
                - name: LOG
                  value: debug
              resources:
                limits:
                  nvidia.com/gpu: "1"
"""
FRAMEWORKS: Final = 'must be one of "sglang", "vllm", "trtllm", got'
TYPES: Final = 'must be one of "frontend", "worker", "prefill", "decode", "planner", "epp", "lpx", got'
IMAGE: Final = "image: registry.example.com/vllm-runtime:1.5.0\n              args"
LATEST: Final = "registry.example.com/vllm-runtime:latest"
# what is written, what a person writes instead (the last place counts) -> place, rule and message; a fix where it isn't the rule's own
MISTAKES: Final = [
    (
        "kind: DynamoGraphDeployment",
        "kind: DynamoGraphDeploymnt",
        '2:7 unknown-kind: must be a kind of nvidia.com, got "DynamoGraphDeploymnt"; did you mean DynamoGraphDeployment?',
    ),
    ("namespace: llm", "namespace: llm\n  labels: {team: 1}", "6:18 wrong-type: must be a string, got number; Put the value in quotes"),
    ("backendFramework: vllm", "backendFramework: vLLM", f'7:21 schema-mismatch: {FRAMEWORKS} "vLLM"; Write "vllm"'),
    ("backendFramework: vllm", "backendFramework: tgi", f'7:21 schema-mismatch: {FRAMEWORKS} "tgi"; Write one of these'),
    ("backendFramework", "backend", "7:3 unknown-field: is not a field of this kind"),
    ("type: worker", "type: Worker", f'18:13 schema-mismatch: {TYPES} "Worker"; Write "worker"'),
    ("replicas: 2", "replica: 2", "19:7 unknown-field: is not a field of this kind; did you mean replicas?; Rename it to replicas"),
    ("replicas: 2", 'replicas: "2"', "19:17 wrong-type: must be a whole number of at most 32 bits, got string; Write 2, without quotes"),
    ("replicas: 2", "replicas: 1.5", "19:17 wrong-type: must be a whole number of at most 32 bits, got another number"),
    ("replicas: 2", "replicas: 2\n      multinode: {nodeCount: 1}", "20:30 schema-mismatch: must be 2 or more, got 1; Write 2 or more"),
    (
        "name: worker",
        "name: frontend",
        '17:13 schema-mismatch: must be unique in its list, got "frontend"; Remove it, or give it another name',
    ),
    (
        "name: worker",
        "name: Frontend",
        '9:7 service-name-collision: must differ from component "Frontend" in more than case, got "frontend"',
    ),
    (
        "name: worker",
        "name: my worker",
        '17:7 service-name-format: must be named with 1 to 63 letters, digits and inner dashes, got "my worker"',
    ),
    (
        IMAGE,
        IMAGE.replace("1.5.0", "latest"),
        "17:7 runtime-version-required: must be set where the image's tag is no version, got nothing beside the image "
        f'"{LATEST}"; set runtimeVersionOverride to the runtime\'s version, such as 1.5.0',
    ),
    (IMAGE, "args", "23:15 image-required: must name the image of the main container, got nothing"),
    ('args: ["--model", "x"]', "args: --model x", "25:21 wrong-type: must be a list, got string"),
    ("value: debug", "value: 1", "28:26 wrong-type: must be a string, got number; Put the value in quotes"),
    ('nvidia.com/gpu: "1"', "nvidia.com/gpu: one", "31:35 wrong-type: must be a quantity such as 1, 500m or 16Gi, got another string"),
    ("limits:", "limit:", "30:17 unknown-field: is not a field of this kind; did you mean limits?; Rename it to limits"),
    ("            - name: main\n", "", "22:11 wrong-type: must be a list, got object"),
    (
        "replicas: 2",
        "replicas: 2\n      experimental: {failover: {mode: InterPod, numShadows: 1}}",
        "20:22 failover-interpod-requires-gms: must not be enabled in mode InterPod without experimental.gpuMemoryService",
    ),
    (
        "replicas: 2",
        "replicas: 2\n      frontendSidecar: side",
        '20:24 frontend-sidecar-unknown: must name a container of podTemplate.spec.containers ("main"), got "side"',
    ),
]


def _mistaken(right: str, wrong: str) -> str:
    head, middle, tail = GRAPH.rpartition(right)
    assert middle
    return f"{head}{wrong}{tail}"


@run_each(("right", "wrong", "line"), MISTAKES)
def test_a_mistake_is_one_finding_with_its_place_and_remedy(command: Command, files: Files, right: str, wrong: str, line: str) -> None:
    files(a=_mistaken(right, wrong))
    [finding] = command("check", "a.yaml", "--set-fact", "grove=true", "-o", "json").json["findings"]
    rule = find_rule(finding["rule"])
    fix = f"; {finding['fix']}" if rule is None or finding["fix"] != rule.fix.removesuffix(".") else ""
    assert f"{finding['line']}:{finding['column']} {finding['rule']}: {finding['message']}{fix}" == line


def test_the_graph_itself_is_right(command: Command, files: Files) -> None:
    files(a=GRAPH)
    assert command("check", "a.yaml", "--set-fact", "grove=true", "-q") == (0, "", "")
