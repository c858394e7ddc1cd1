"""A small file for each check of `check` itself, with its output; the page of the check shows them."""

import re
from hashlib import sha256
from typing import Final

from dynamo_webhooks.conversion.bounds import TOO_LONG
from tools.manual.console import PageError
from tools.manual.terminal import terminal

_GRAPH: Final = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g, namespace: llm}
spec:
  services:
    worker:
      componentType: worker
"""
_HEAD: Final = "metadata: {name: g, namespace: llm}\n"
_BETA: Final = f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\n{_HEAD}spec:\n  components:\n"
_WORKER: Final = f"{_BETA}    - name: worker\n      type: worker\n"

# what a page shows of a text that is too long for it, and that can't be packed
_LONG: Final = "(400,000 random characters)"

# check -> a file with a finding. conversion-loss has none: it would need an internal error, or an annotation written by hand.
FILES: Final[dict[str, str]] = {
    "unknown-kind": f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraph\n{_HEAD}",
    "wrong-type": "apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {name: m, labels: {tier: 1}}\n"
    "spec: {modelName: org/chat, baseModelName: org/chat}\n",
    "unknown-field": f"{_WORKER}      replica: 2\n",
    "null-entry": f"{_WORKER}      podTemplate: {{metadata: {{labels: {{team: null}}}}}}\n",
    "schema-mismatch": f"{_WORKER}      multinode: {{nodeCount: 1}}\n",
    "schema-rule": f"{_BETA}    - name: picker\n      type: worker\n      eppConfig: {{configMapRef: {{key: config, name: picker}}}}\n",
    "ignore-without-reason": f"{_WORKER}      replicas: -1   # dynamo-webhooks: ignore[replicas-non-negative]\n",
    "unused-ignore": f"{_WORKER}      replicas: 1   # dynamo-webhooks: ignore[replicas-non-negative] the scaler writes -1\n",
    "unconvertible": _GRAPH.replace("namespace: llm}", f"namespace: llm, labels: {{{TOO_LONG}: too-long}}}}"),
    "legacy-kind": f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoDeployment\n{_HEAD}spec: {{dynamoNim: 'chat:v3'}}\n",
    "damaged-remainder": _WORKER.replace("namespace: llm}", "namespace: llm, annotations: {nvidia.com/dgd-spec: x}}"),
    "long-remainder": f"{_GRAPH}      annotations: {{prompt: {_LONG}}}\n",
    "stays-after-move": f"{_BETA}    - {{name: worker, type: worker}}\n",
    "duplicate-object": f"{_WORKER}---\n{_WORKER}",
    "name-of-other-version": f"{_WORKER}      podTemplate: {{spec: {{containers: [{{name: main, resources: {{limits: {{gpu: 1}}}}}}]}}}}\n",
    "unfilled-placeholder": f"{_WORKER}      replicas: ${{REPLICAS}}\n",
}
# check -> the file as it was, where the check compares with that
BEFORE: Final[dict[str, str]] = {"stays-after-move": f"{_GRAPH}      ingress: {{enabled: true, host: chat.example.com}}\n"}


def _random() -> str:
    """The same text each time, so that pages don't change."""
    return "".join(sha256(str(number).encode()).hexdigest() for number in range(400_000 // 64))


def show_example(name: str) -> str:
    """The file and the report, as parts of a page; empty for a check without a file. Raises: PageError when the check finds nothing."""
    if name not in FILES:
        return ""
    with terminal() as session:
        session.write("graph.yaml", FILES[name].replace(_LONG, _random()))
        line = f"dynamo-webhooks check graph.yaml --select {name}"
        if name in BEFORE:
            session.write("before.yaml", BEFORE[name])
            line += " --old before.yaml"
        printed = session.run(line)
    if not re.search(rf" (?:error|warning) {name} \(", printed):
        raise PageError(f"the file of {name} in tools/manual/own.py has no such finding: {printed.strip()}")
    body = "".join(f"{each.rstrip()}\n" for each in printed.splitlines())
    before = f"The stored object, `before.yaml`:\n\n```yaml\n{BEFORE[name]}```\n\n`graph.yaml`:\n\n" if name in BEFORE else ""
    return f"## Example\n\n{before}```yaml\n{FILES[name]}```\n\n```console\n$ {line}\n{body}```"
