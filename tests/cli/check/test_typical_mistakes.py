"""Typical mistakes of people in a graph: each is one finding, at its place, with the whole message and the right remedy."""

from typing import Final

import pytest

from tests.cli.conftest import Command, Files

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
KINDS: Final = "Use one of the kinds and versions that `dynamo-webhooks version` lists"
TYPE: Final = "Write a value of the field's type; quote what must be text"
FRAMEWORKS: Final = 'must be one of "sglang", "vllm", "trtllm", got'
TYPES: Final = 'must be one of "frontend", "worker", "prefill", "decode", "planner", "epp", "lpx", got'
BETA_OR_ALPHA: Final = "must be nvidia.com/v1alpha1 or nvidia.com/v1beta1 for DynamoGraphDeployment, got"
FILL: Final = "Fill it with --set {}=VALUE or --env-file FILE, or check what your templates render"
IMAGE: Final = "image: registry.example.com/vllm-runtime:1.5.0\n              args"
# what is written, what a person writes instead (the last place counts) -> line, column, rule, message, fix
MISTAKES: Final = [
    (
        "nvidia.com/v1beta1",
        "nvidia.co/v1beta1",
        1,
        13,
        "unknown-kind",
        f'{BETA_OR_ALPHA} "nvidia.co/v1beta1"; did you mean nvidia.com?',
        KINDS,
    ),
    ("nvidia.com/v1beta1", "nvidia.com/v1", 1, 13, "unknown-kind", f'{BETA_OR_ALPHA} "nvidia.com/v1"', KINDS),
    (
        "kind: DynamoGraphDeployment",
        "kind: DynamoGraphDeploymnt",
        2,
        7,
        "unknown-kind",
        'must be a kind of nvidia.com, got "DynamoGraphDeploymnt"; did you mean DynamoGraphDeployment?',
        KINDS,
    ),
    (
        "kind: DynamoGraphDeployment\n",
        "",
        1,
        1,
        "unknown-kind",
        "must be given: a kind of nvidia.com, such as DynamoGraphDeployment",
        KINDS,
    ),
    (
        "namespace: llm",
        "namespace: <your-namespace>",
        5,
        14,
        "unfilled-placeholder",
        "must hold no placeholder, got <your-namespace>",
        "Write a value for <your-namespace>",
    ),
    (
        "namespace: llm",
        "namespace: llm\n  labels: {team: 1}",
        6,
        18,
        "wrong-type",
        "must be a string, got number",
        "Put the value in quotes",
    ),
    (
        "namespace: llm",
        "namespace: llm\n  annotations: {a: true}",
        6,
        20,
        "wrong-type",
        "must be a string, got boolean",
        "Put the value in quotes",
    ),
    ("backendFramework: vllm", "backendFramework: vLLM", 7, 21, "schema-mismatch", f'{FRAMEWORKS} "vLLM"', 'Write "vllm"'),
    ("backendFramework: vllm", "backendFramework: tgi", 7, 21, "schema-mismatch", f'{FRAMEWORKS} "tgi"', "Write one of these"),
    ("backendFramework", "backend", 7, 3, "unknown-field", "is no field of this kind", "Remove the field, or correct its name"),
    ("type: worker", "type: Worker", 18, 13, "schema-mismatch", f'{TYPES} "Worker"', 'Write "worker"'),
    ("type: worker", "type: backend", 18, 13, "schema-mismatch", f'{TYPES} "backend"', "Write one of these"),
    ("replicas: 2", "replica: 2", 19, 7, "unknown-field", "is no field of this kind; did you mean replicas?", "Rename it to replicas"),
    (
        "replicas: 2",
        'replicas: "2"',
        19,
        17,
        "wrong-type",
        "must be a whole number of at most 32 bits, got string",
        "Write 2, without quotes",
    ),
    ("replicas: 2", "replicas: 1.5", 19, 17, "wrong-type", "must be a whole number of at most 32 bits, got another number", TYPE),
    ("replicas: 2", "replicas: two", 19, 17, "wrong-type", "must be a whole number of at most 32 bits, got string", TYPE),
    (
        "replicas: 2",
        "replicas: ${REPLICAS}",
        19,
        17,
        "unfilled-placeholder",
        "must hold no placeholder, got ${REPLICAS}",
        FILL.format("REPLICAS"),
    ),
    (
        "replicas: 2",
        "replicas: 2\n      multinode: {nodeCount: 1}",
        20,
        30,
        "schema-mismatch",
        "must be 2 or more, got 1",
        "Write 2 or more",
    ),
    (
        "name: worker",
        "name: frontend",
        17,
        13,
        "schema-mismatch",
        'must be unique in its list, got "frontend"',
        "Remove it, or give it another name",
    ),
    (
        "name: worker",
        "name: Frontend",
        9,
        7,
        "service-name-collision",
        'must differ from component "Frontend" in more than case, got "frontend"',
        "Rename one of them",
    ),
    (
        "name: worker",
        "name: my worker",
        17,
        7,
        "service-name-format",
        'must be named with 1 to 63 letters, digits and inner dashes, got "my worker"',
        "Use 1 to 63 letters, digits and dashes, with a letter or digit at both ends",
    ),
    (IMAGE, IMAGE.replace("1.5.0", "${TAG}"), 24, 22, "unfilled-placeholder", "must hold no placeholder, got ${TAG}", FILL.format("TAG")),
    (
        IMAGE,
        IMAGE.replace("1.5.0", "latest"),
        17,
        7,
        "runtime-version-required",
        'must be set where the image\'s tag is no version, got nothing beside the image "registry.example.com/vllm-runtime:latest"',
        "set runtimeVersionOverride to the runtime's version, such as 1.5.0",
    ),
    (
        IMAGE,
        "args",
        23,
        15,
        "image-required",
        "must name the image of the main container, got nothing",
        "Set image of the container main in podTemplate.spec.containers",
    ),
    ('args: ["--model", "x"]', "args: --model x", 25, 21, "wrong-type", "must be a list, got string", TYPE),
    ("value: debug", "value: 1", 28, 26, "wrong-type", "must be a string, got number", "Put the value in quotes"),
    (
        'nvidia.com/gpu: "1"',
        "nvidia.com/gpu: one",
        31,
        35,
        "wrong-type",
        "must be a quantity such as 1, 500m or 16Gi, got another string",
        TYPE,
    ),
    ("limits:", "limit:", 30, 17, "unknown-field", "is no field of this kind; did you mean limits?", "Rename it to limits"),
    ("            - name: main\n", "", 22, 11, "wrong-type", "must be a list, got object", TYPE),
    (
        "replicas: 2",
        "replicas: 2\n      experimental: {failover: {mode: InterPod, numShadows: 1}}",
        20,
        22,
        "failover-interpod-requires-gms",
        "must not be enabled in mode InterPod without experimental.gpuMemoryService",
        "Enable `experimental.gpuMemoryService` with mode InterPod, or switch failover off",
    ),
    (
        "replicas: 2",
        "replicas: 2\n      sharedMemorySize: big",
        20,
        25,
        "wrong-type",
        "must be a quantity such as 1, 500m or 16Gi, got another string",
        TYPE,
    ),
    (
        "replicas: 2",
        "replicas: 2\n      frontendSidecar: side",
        20,
        24,
        "frontend-sidecar-unknown",
        'must name a container of podTemplate.spec.containers ("main"), got "side"',
        "Name a container in `podTemplate.spec.containers`, or remove `frontendSidecar`",
    ),
]


def _mistaken(right: str, wrong: str) -> str:
    head, found, tail = GRAPH.rpartition(right)
    assert found
    return f"{head}{wrong}{tail}"


@pytest.mark.parametrize(("right", "wrong", "line", "column", "rule", "message", "fix"), MISTAKES)
def test_a_mistake_is_one_finding_with_its_place_and_remedy(
    command: Command, files: Files, right: str, wrong: str, line: int, column: int, rule: str, message: str, fix: str
) -> None:
    files(a=_mistaken(right, wrong))
    found = command("check", "a.yaml", "--set-fact", "grove=true", "-o", "json").json["findings"]
    assert [(one["line"], one["column"], one["rule"], one["message"], one["fix"]) for one in found] == [(line, column, rule, message, fix)]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("replicas: 2", "replicas: 2\n      replicas: 3", '20:7: duplicate key "replicas", on line 19 and on line 20'),
        ("replicas: 2", "replicas: 2\n\t  x: 3", "20:1: must be indented with spaces, found a tab"),
    ],
)
def test_a_text_that_can_not_be_read_is_one_line(command: Command, files: Files, right: str, wrong: str, said: str) -> None:
    files(a=_mistaken(right, wrong))
    ran = command("check", "a.yaml", "-q")
    assert (ran.code, ran.out, ran.err) == (4, "", f"a.yaml:{said}\n")


def test_the_graph_itself_is_right(command: Command, files: Files) -> None:
    files(a=GRAPH)
    assert command("check", "a.yaml", "--set-fact", "grove=true", "-q") == (0, "", "")
