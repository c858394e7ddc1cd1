"""Every command of docs/ci.md is run in a repository as a reader may have it, and its recipes name what there is."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.cli.clusters import cluster
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, GOOD
from tools.manual.console import Terminal, terminal

ROOT: Final = Path(__file__).parents[3]
PAGE: Final = (ROOT / "docs" / "ci.md").read_text()
_BLOCK: Final = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FACTS: Final = (ROOT / "docs" / "examples" / "facts.yaml").read_text()
CASE: Final = (ROOT / "docs" / "examples" / "cases" / "allow.small.yaml").read_text()

# stand-ins for programs that aren't on every machine; what is tried is what we make of their output
_KUSTOMIZE: Final = '#!/bin/sh\ncat "$2/out.yaml"\n'
_HELM: Final = "#!/bin/sh\ncat chart/rendered.txt\n"
_ENVSUBST: Final = "#!/bin/sh\nexec sed 's/${REPLICAS}/2/'\n"

# what each command ends with: deploy/ has a finding, which the branch to compare with has too
CODES: Final = {
    "dynamo-webhooks check deploy -o github -o sarif=dynamo.sarif": 1,
    "dynamo-webhooks check deploy --against FETCH_HEAD -o text -o junit=dynamo.xml -o gitlab=dynamo.json": 0,
    "dynamo-webhooks check deploy -o text -o junit=dynamo.xml": 1,
    "dynamo-webhooks check rendered.yaml --facts facts.yaml": 0,
    "dynamo-webhooks check --show-config": 0,
    "dynamo-webhooks check deploy --against origin/main": 0,
    "dynamo-webhooks diff origin/main:deploy deploy": 1,
    "dynamo-webhooks render deploy --against origin/main --facts facts.yaml": 0,
    "dynamo-webhooks check -k overlays/prod": 0,
    "helm template release chart | dynamo-webhooks check - --stdin-name chart": 0,
    "dynamo-webhooks check deploy/dev --facts clusters/dev.yaml": 0,
    "dynamo-webhooks check deploy/prod --facts clusters/prod.yaml --line 1.5 --namespace llm": 0,
    "envsubst < flux/graph.yaml | dynamo-webhooks check - --stdin-name flux/graph.yaml": 0,
    "dynamo-webhooks check deploy --facts facts.yaml --require-facts": 1,
    "dynamo-webhooks check deploy --baseline dynamo.baseline.json --update-baseline": 0,
    "dynamo-webhooks check deploy --baseline dynamo.baseline.json": 0,
    "dynamo-webhooks test cases": 0,
}
# need a cluster, here one in memory that holds what deploy/ does but for its replicas
CLUSTER: Final = {
    "dynamo-webhooks check deploy --cluster --namespace llm": 0,
    "dynamo-webhooks diff deploy --cluster --namespace llm": 1,
    "dynamo-webhooks check --cluster": 0,
    "dynamo-webhooks facts --cluster -o facts.yaml": 0,
}


def _commands() -> list[str]:
    """Every line that calls the command, in whatever recipe it stands."""
    return list(dict.fromkeys(line for _, text in _BLOCK.findall(PAGE) for line in _called(text) if "||" not in line))


def _called(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if "pip install" not in line and (
            match := re.search(r"(?:(?:helm template|kubectl kustomize|envsubst) .*\| )?\bdynamo-webhooks [a-z]+ .*", line)
        ):
            yield match[0].rstrip(" }'") if "steps {" in line else match[0]


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Terminal]:
    with terminal() as session:
        for name, text in {
            "deploy/good.yaml": GOOD,
            "deploy/bad.yaml": BAD,
            "deploy/dev/graph.yaml": GOOD,
            "deploy/prod/graph.yaml": GOOD,
            "clusters/dev.yaml": FACTS,
            "clusters/prod.yaml": FACTS,
            "facts.yaml": FACTS,
            "cases/allow.small.yaml": CASE,
            "overlays/prod/out.yaml": GOOD,
            "chart/rendered.txt": GOOD,
            "chart/Chart.yaml": "name: chart\n",
            "flux/graph.yaml": GOOD.replace("replicas: 2", "replicas: ${REPLICAS}"),
            "bin/kustomize": _KUSTOMIZE,
            "bin/kubectl": _KUSTOMIZE,
            "bin/helm": _HELM,
            "bin/envsubst": _ENVSUBST,
        }.items():
            session.write(name, text)
        session.run(
            "chmod +x bin/* && git init -q -b main . && git add deploy && git commit -qm x && git update-ref refs/remotes/origin/main HEAD"
        )
        assert session.code == 0
        session.run(
            "git update-ref FETCH_HEAD HEAD && git rm -q --cached deploy/good.yaml && sed -i 's/replicas: 2/replicas: 3/' deploy/good.yaml"
        )
        assert session.code == 0
        yield session


def test_every_command_of_the_page_is_known_here() -> None:
    assert sorted(_commands()) == sorted([*CODES, *CLUSTER])


def test_every_command_of_the_page_ends_as_it_should(repository: Terminal) -> None:
    repository.run("PATH=$PWD/bin:$PATH kubectl kustomize overlays/prod > rendered.yaml")
    for line in _commands():
        if line not in CLUSTER:
            printed = repository.run(f"PATH=$PWD/bin:$PATH; {line}")
            assert repository.code == CODES[line], (line, printed)
    repository.run("grep -q 2.1.0 dynamo.sarif && grep -q '<testsuites' dynamo.xml && test -s dynamo.json")
    assert repository.code == 0


def test_the_project_file_of_the_page_holds(repository: Terminal) -> None:
    repository.write(".dynamo-webhooks.yaml", next(text for kind, text in _BLOCK.findall(PAGE) if kind == "yaml" and "baseline:" in text))
    repository.run("dynamo-webhooks check --update-baseline -o sarif=dynamo.sarif")
    assert repository.code == 0
    repository.run("rm dynamo.sarif; dynamo-webhooks check deploy/good.yaml && grep -q 2.1.0 dynamo.sarif")
    assert repository.code == 0
    assert "the gateway sets the host" in repository.run("dynamo-webhooks check --show-config")


def test_the_script_tells_findings_from_what_could_not_be_checked(repository: Terminal) -> None:
    script = next(text for _, text in _BLOCK.findall(PAGE) if "case ${code" in text)
    assert repository.run(script).splitlines().count("findings") == 1
    assert repository.code == 0
    assert repository.run(script.replace("check deploy", "check nowhere")).count("could not be checked") == 1
    assert repository.code == 4


@pytest.mark.parametrize("line", CLUSTER)
def test_commands_for_a_cluster_end_as_they_should(command: Command, files: Files, connected: Callable[..., Any], line: str) -> None:
    made = cluster(GOOD.replace("replicas: 2", "replicas: 3"))
    connected(made)
    made.writes.clear()
    files(deploy__good=GOOD)
    ran = command(*line.split()[1:])
    assert (ran.code, made.writes) == (CLUSTER[line], []), ran


def test_the_recipes_are_yaml_and_name_inputs_and_hooks_that_exist() -> None:
    recipes: list[Any] = [yaml.safe_load(text) for kind, text in _BLOCK.findall(PAGE) if kind == "yaml"]
    inputs = set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    used = [step for recipe in recipes if "jobs" in recipe for step in recipe["jobs"]["dynamo"]["steps"]]
    ours = [step for step in used if step.get("uses", "").startswith("OWNER/dynamo-webhooks@")]
    assert ours
    assert all(set(step["with"]) <= inputs for step in ours)
    named = {hook["id"] for recipe in recipes if "repos" in recipe for repo in recipe["repos"] for hook in repo["hooks"]}
    assert named
    assert {*named, *re.findall(r"`(dynamo-[a-z-]+)`", PAGE)} - {"dynamo-webhooks"} <= hooks
