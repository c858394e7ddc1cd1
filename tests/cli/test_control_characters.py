"""No report prints a control or bidirectional character of an author, a file's name or the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import pytest

from tests.cli.conftest import Command, Files

ODD: Final = "\x1b]0;x\x07\u202e\x9b31m"  # a terminal's title, its bell, text from right to left, red
WRITTEN: Final = r"\e]0;x\a\u202e\x9b31m"  # the same in double quotes of YAML
RAW: Final = "\u202e\u2066"  # what YAML takes as it is
FORBIDDEN: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
BAD: Final = f"""\
# comment {RAW}
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: "g{WRITTEN}"
  namespace: "n{WRITTEN}"
  annotations: {{"k{WRITTEN}": v, nvidia.com/dynamo-kube-discovery-mode: "m{WRITTEN}"}}
spec:
  backendFramework: "vllm{WRITTEN}"  # {RAW}
  "unknown{WRITTEN}": "y{WRITTEN}"
  services:
    "w{WRITTEN}": {{componentType: "worker{WRITTEN}", replicas: -1, "q{WRITTEN}": z, volumeMounts: [{{name: "v{WRITTEN}"}}]}}
    x: {{componentType: worker, replicas: "t{WRITTEN}"}}
"""
GOOD: Final = f"""\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: g, namespace: n, annotations: {{k: "v{WRITTEN}"}}}}
spec: {{envs: [{{name: A, value: "B{WRITTEN}"}}], services: {{w: {{componentType: worker}}}}}}
"""
UNREADABLE: Final = f"nvidia.com: {RAW} c: d\n"
CONFIGURATION: Final = f'apiVersion: "operator{WRITTEN}"\n"k{WRITTEN}": "{WRITTEN}"\nlogging: {{level: "{WRITTEN}"}}\n'
NAME: Final = f"{ODD}.yaml"
COMMANDS: Final = [
    *(("check", ".", "-o", form, "--answer", "-v") for form in ("text", "github", "junit", "sarif", "json")),
    ("check", NAME, "-q", "--answer"),
    ("check", f"missing{ODD}"),
    ("check", "good.yaml", "--against", ODD),
    ("check", "good.yaml", "--ignore", ODD),
    ("check", f"--{ODD}"),
    (ODD,),
    *(("convert", name, "--to", "v1beta1", "-o", "json") for name in ("good.yaml", NAME)),
    ("convert", "--check", NAME, "--to", "v1beta1"),
    *(("default", name, "-o", form) for name in ("good.yaml", NAME) for form in ("text", "json", "patch")),
    *(("diff", name, "bad.yaml", *form) for name in ("good.yaml", NAME) for form in ((), ("-o", "json"))),
    *(("render", name, "-o", "json") for name in ("good.yaml", NAME)),
    ("explain", ODD),
    ("explain", f"spec.{ODD}"),
    *(("test", "cases", "-o", form) for form in ("text", "json", "junit")),
    ("config", "--config", "raw_conf"),
    ("schema", ODD),
    ("rules", ODD),
    ("crds", "--kind", ODD),
    ("certs", ODD),
]


@pytest.fixture
def folder(files: Files) -> Path:
    """Files with odd characters wherever a file may hold some."""
    made = files(good=GOOD, bad=BAD, unreadable=UNREADABLE, raw_conf=CONFIGURATION, cases__deny_x=BAD)
    (made / "cases" / "deny_x.yaml").rename(made / "cases" / "deny.x.yaml")
    (made / "cases" / "allow.y.yaml").write_text(GOOD.replace("worker}", "worker, replicas: -1}"))
    (made / NAME).write_text(BAD)
    return made


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: ascii(" ".join(words)))
def test_nothing_odd_is_printed(folder: Path, command: Command, words: tuple[str, ...]) -> None:
    ran = command(*words)
    assert ran.code in (0, 1, 2, 4)
    assert ran.out + ran.err
    for line in (ran.out + ran.err).split("\n"):
        assert not FORBIDDEN.search(line), ascii(line)


def test_json_holds_the_very_same_values(folder: Path, command: Command) -> None:
    report = json.loads(command("check", "bad.yaml", "-o", "json").out)
    assert {finding["object"]["name"] for finding in report["findings"]} == {f"g{ODD}"}
    converted = json.loads(command("convert", "good.yaml", "--to", "v1beta1", "-o", "json").out)
    assert converted["metadata"]["annotations"]["k"] == f"v{ODD}"
