"""Writes the repository of a session into the working directory: 150 of upstream's graphs, five of them broken, a chart and placeholders.

`python -m tools.manual.fleet`. The graphs are those of the recorded answers, with images of a registry that doesn't exist.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dynamo_webhooks.cli.check.choice import Choice
from dynamo_webhooks.cli.check.pipeline import Settings
from dynamo_webhooks.cli.check.run import Run
from dynamo_webhooks.cli.rewrite.fresh import yaml_text
from dynamo_webhooks.cli.yaml.load import Source
from dynamo_webhooks.policies.facts import facts_from
from tests.golden.upstream import CONVERTED, MADE_UP, manifests

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT: Final = 150
FACTS: Final[dict[str, Any]] = {"operatorLine": "1.2", "grove": True, "lws": True, "dra": True}
_KIND: Final = "DynamoGraphDeployment"
_IMAGE: Final = re.compile(r"(image: )\S*?([\w.-]+)(?::[\w.-]+|@\S+)\s*$", re.MULTILINE)
# what somebody wrote instead, once each
MISTAKES: Final = (
    ("\n      replicas: 1\n", '\n      replicas: "1"\n'),
    ("\n      replicas: 1\n", "\n      replica: 1\n"),
    ("\n      type: frontend\n", "\n      type: Frontend\n"),
    ("\n      replicas: 1\n", "\n      replicas: -1\n"),
    ("\n  components:\n", "\n  components: [\n"),
)
CHART: Final = {
    "Chart.yaml": "apiVersion: v2\nname: chat\nversion: 0.1.0\n",
    "values.yaml": "replicas: 2\n",
    "templates/graph.yaml": """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: {{ .Release.Name }}
  namespace: llm
spec:
  components:
    - name: frontend
      type: frontend
      replicas: {{ .Values.replicas }}
      podTemplate: {spec: {containers: [{name: main, image: "registry.example.com/vllm:1.5.0"}]}}
""",
}
PLACEHOLDERS: Final = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: search, namespace: llm}
spec:
  components:
    - name: frontend
      type: frontend
      replicas: ${REPLICAS}
      podTemplate:
        spec:
          containers:
            - name: main
              image: registry.example.com/vllm:1.5.0
              args: ${ARGS}
"""


def repository() -> dict[str, str]:
    """The files, by name."""
    texts, left = {}, list(MISTAKES)
    for name, text in graphs():
        written = text
        if left and left[0][0] in text and "v1beta1" in text:
            written = text.replace(*left.pop(0), 1)
        texts[f"graphs/{name}.yaml"] = written
    if left:
        raise ValueError(f"no graph has a place for {left[0][1]!r}")
    return {**texts, **{f"chart/{name}": text for name, text in CHART.items()}, "flux/search.yaml": PLACEHOLDERS}


def graphs() -> Iterator[tuple[str, str]]:
    """The first of upstream's graphs in which `check` finds nothing, with their names."""
    settings, number = Settings(facts_from(FACTS)), 0
    for recorded, manifest in manifests({_KIND}, CONVERTED):
        if recorded in MADE_UP or set(recorded) <= {"x"} or not re.fullmatch(r"[a-z][a-z0-9-]+", recorded):
            continue
        name = f"{recorded[:40]}-{number:03}"
        metadata = {"name": name, "namespace": "llm"}
        head = {"apiVersion": manifest["apiVersion"], "kind": _KIND, "metadata": metadata, "spec": manifest["spec"]}
        text = _IMAGE.sub(r"\1registry.example.com/\2:1.5.0", yaml_text(head))
        run = Run(settings, Choice(), "auto", None)
        run.take(Source(name, text), "")
        if not run.result().findings:
            yield name, text
            number += 1
        if number == COUNT:
            return


if __name__ == "__main__":
    for file, text in repository().items():
        Path(file).parent.mkdir(parents=True, exist_ok=True)
        Path(file).write_text(text)
