"""One installation that moves from line to line, with all objects that were stored on the way.

On each line `doctor` finds nothing, the worked examples are answered as offline, and what is admitted is stored from both versions. After
a move everything is there in both versions, and stays when it is written in either. Lines without manifests are for `make nightly`.
"""

import copy
import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from dynamo_webhooks.api.kinds import ALPHA, BETA, BY_NAME, KINDS
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.api.schema import load_schema
from dynamo_webhooks.api.walk.prune import prune
from dynamo_webhooks.cli.main import main
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import kind_of
from tests.admission.line_examples import EXAMPLES, Example
from tests.admission.test_worked_lines import FACTS, UNCHECKED, answer
from tests.cluster.harness import ADMIN, Reply
from tests.cluster.objects import checkpoint, make, path_of
from tests.cluster.planes import Planes
from tests.cluster.playing import MERGE
from tests.cluster.processes import StartError, wait_until
from tests.cluster.provisioning import NAMESPACE, Installed, installed
from tests.cluster.rendering import GUARD, of_kind
from tools.crd_files import FOLDERS, render_files

Node = dict[str, Any]
Objects = dict[tuple[str, str, str, str], Node]  # by kind, version, namespace and name
OF_CLUSTER: Final = {**FACTS, "lpx": True}
# which rows are tried where the specification has none; what is expected says the offline answer
ROWS: Final = {Line.V1_3: Line.V1_2, Line.V1_4: Line.V1_5, Line.V1_7: Line.V1_6}
# a field that a line adds
NEW: Final[dict[Line, Node]] = {
    Line.V1_3: {"components": [{"name": "w", "minAvailable": 1}]},
    Line.V1_4: {"experimental": {"kvTransferPolicy": {"clusterTopologyName": "t"}}},
    Line.V1_5: {"components": [{"name": "w", "roles": []}]},
    **{line: {"components": [{"name": "w", "roles": [{"name": "leader", "replicas": 1}]}]} for line in (Line.V1_6, Line.V1_7)},
}
# what a later line refuses to change until it is repaired, because its rules ask nothing of the stored object (GO7, NO6)
STUCK: Final = {
    Line.V1_5: {("DynamoGraphDeployment", "e30"), ("DynamoComponentDeployment", "e31")},
    Line.V1_6: {("DynamoGraphDeployment", name) for name in ("e43", "e44", "e45")},
}


class Site:
    """The installation and its line."""

    def __init__(self, installation: Installed, lines: Sequence[Line]) -> None:
        self.found, self.plane, self.lines, self.line = installation, installation.plane, lines, OLDEST

    def start(self) -> None:
        """Starts all on the oldest line, with the policy on its definitions."""
        self._configure()
        self.found.serve("server")
        self.found.provision()
        self.found.wait_until_stable()
        self.plane.apply(*of_kind(self.found.objects, *GUARD))

    def move(self, line: Line) -> None:
        """Applies the definitions, then the configuration, and starts the server with it."""
        self.plane.kubectl("apply", "--server-side", "-f", "-", input="---\n".join(render_files(line).values())).done()
        self.line = line
        self._configure()
        self.found.servers["server"].stop()
        self.found.serve("server")
        self.found.wait_until_stable()
        wait_until(partial(self._knows, NEW[line]), "the definitions being in force", self.plane.server)

    def _configure(self) -> None:
        (self.found.home / "facts.yaml").write_text(yaml.safe_dump({**OF_CLUSTER, "operatorVersion": f"{self.line}.0"}))
        [config] = [copy.deepcopy(each) for each in of_kind(self.found.objects, "ConfigMap") if "config.yaml" in each["data"]]
        configuration = {**yaml.safe_load(config["data"]["config.yaml"]), "operator": {"version": f"{self.line}.0"}}
        config["data"]["config.yaml"] = yaml.safe_dump(configuration)
        self.plane.apply(config)
        configuration["serving"] |= {"drainLag": "0s"}
        (self.found.home / "config.yaml").write_text(yaml.safe_dump(configuration))

    def _knows(self, spec: Node) -> bool:
        """Whether the API server judges by definitions that have the fields."""
        probe = make("DGD", BETA, "default", spec)
        return "unknown field" not in str(self.plane.request("POST", f"{path_of(probe)}?dryRun=All&fieldValidation=Strict", probe).body)

    def everything(self) -> Objects:
        """All objects in all their versions."""
        objects = {}
        for kind, version in [(each, version.name) for each in KINDS if each.since <= self.line for version in each.of_line(self.line)]:
            reply = self.plane.request("GET", f"/apis/nvidia.com/{version}/{kind.plural}").done()
            for item in reply["items"]:
                whole = {"apiVersion": f"nvidia.com/{version}", "kind": kind.name, **item}
                objects[kind.name, version, item["metadata"]["namespace"], item["metadata"]["name"]] = whole
        return objects

    def write(self, obj: Node, old: Node | None = None) -> Reply:
        """Creates an object, or brings it over an old one, which goes if that is refused."""
        if old is None:
            return self.plane.request("POST", path_of(obj), obj)
        path = path_of(obj, named=True)
        made = self.plane.request("GET", path)
        if made.status == 404:
            made = self.plane.request("POST", path_of(old), old)
        metadata = made.done()["metadata"]
        notes = {**metadata.get("annotations", {}), **obj["metadata"].get("annotations", {})}
        reply = self.plane.request("PUT", path, {**obj, "metadata": {**metadata, **obj["metadata"], "annotations": notes}})
        assert reply.status == 200 or self.plane.request("DELETE", path).status == 200
        return reply


@pytest.mark.parametrize("lines", [tuple(FOLDERS), pytest.param(tuple(Line), marks=pytest.mark.nightly)], ids=("shipped", "all"))
def test_a_cluster_goes_from_line_to_line(
    planes: Planes, tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: Sequence[Line]
) -> None:
    with installed(planes, tmp_path) as installation:
        site, wrong = Site(installation, lines), list[str]()
        site.start()
        site.plane.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _namespace(line)}} for line in lines))
        for line in lines:
            if line is not OLDEST:
                before = site.everything()
                site.move(line)
                wrong += _list_lost(site, before)
            if line is Line.V1_5:  # which stores another version
                assert main(["migrate", "--to", BETA, "--kubeconfig", str(site.plane.kubeconfig), "--settle", "0", "-o", "json"]) == 0
                wrong += _list_lost(site, before)
            wrong += _list_findings(site, capsys)
            wrong += [*_try_examples(site), *_store_others(site), *_list_unlike_conversions(site)]
            _store_for_later(site)
        assert not wrong, "\n".join(wrong)


def _namespace(line: Line) -> str:
    return f"on-{line.replace('.', '-')}"


def _list_findings(site: Site, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What doctor says once the API server has noticed the move."""
    output: list[str] = []

    def is_well() -> bool:
        capsys.readouterr()
        main(["doctor", "--kubeconfig", str(site.plane.kubeconfig), "--context", ADMIN, "--namespace", NAMESPACE])
        output[:] = [capsys.readouterr().out]
        return output == ["all is well\n"]

    try:
        wait_until(is_well, "doctor finding nothing", patience=60)
    except StartError:
        return [f"on line {site.line} doctor says {output}"]
    return []


def _list_lost(site: Site, before: Objects) -> Iterator[str]:
    """What objects no longer say that they said before the move, also after those of the last line are written in each version."""
    assert len(before) > 50
    yield from _list_changed(site, before)
    last = _namespace([line for line in site.lines if line < site.line][-1])
    for obj in [obj for (_, _, namespace, _), obj in before.items() if namespace == last]:
        reply = site.plane.request("PATCH", path_of(obj, named=True), {"metadata": {"labels": {"on": site.line}}}, kind=MERGE)
        if reply.status != 200 and (obj["kind"], obj["metadata"]["name"].removesuffix("-alpha")) not in STUCK.get(site.line, ()):
            yield f"on line {site.line} {path_of(obj, named=True)} can't be written: {reply.body.get('message')}"
    yield from _list_changed(site, before)


def _list_changed(site: Site, before: Objects) -> Iterator[str]:
    now = site.everything()
    for name, obj in before.items():
        current = now.get(name, {})
        for part in ("spec", "status"):
            if not has_all(current.get(part), obj.get(part)):
                yield f"on line {site.line} {part} of {name} was {obj[part]}, and is {current.get(part)}"


def has_all(actual: Any, wanted: Any) -> bool:
    """Whether all of it is there; a schema may have added defaults."""
    if isinstance(wanted, dict):
        return isinstance(actual, dict) and all(name in actual and has_all(actual[name], value) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(actual, list) and len(actual) == len(wanted) and all(itertools.starmap(has_all, zip(actual, wanted, strict=True)))
    return bool(actual == wanted)


def _store_for_later(site: Site) -> None:
    """What a later line would not admit, and has in store when it is changed."""
    for line in [line for line in site.lines if line > site.line]:
        for row in _rows(line):
            if row.old is not None and answer(Example(row.number, row.old, {}), line):
                site.write(_named(row.old, row.number, line))  # refused where it is there, or this line doesn't admit it either


def _rows(line: Line) -> list[Example]:
    """The examples of a line that hold under the facts."""
    rows = [row for row in EXAMPLES if ROWS.get(line, line) in row.answers]
    return [row for row in rows if all(OF_CLUSTER[name] == value for name, value in (row.facts or {}).items())]


def _named(obj: Node, number: str, line: Line) -> Node:
    metadata = {**obj["metadata"], "namespace": _namespace(line), "name": number.lower().replace(" ", "-")}
    return {**copy.deepcopy(obj), "metadata": metadata}


def _try_examples(site: Site) -> Iterator[str]:
    """The examples; what is admitted is written in the other version, too."""
    rows = _rows(site.line)
    assert len(rows) > 40
    for row in rows:
        obj = _named(row.obj, row.number, site.line)
        reply = site.write(obj, row.old and _named(row.old, row.number, site.line))
        causes = {f"{reason.removeprefix('FieldValue')} {field}" for field, reason in reply.causes()} - {UNCHECKED}
        expected = answer(row, site.line)
        if causes != expected or (reply.status < 300) is bool(expected):
            yield f"on line {site.line} {row.number}: {expected}, the API server {reply.status} {causes} {reply.body.get('message')}"
        elif not expected and row.old is None and obj["apiVersion"].endswith(BETA):
            obj = _named(convert(kind_of(obj["kind"], site.line), obj, ALPHA).object, f"{row.number} alpha", site.line)
            if (reply := site.write(obj)).status != 201:
                yield f"on line {site.line} {row.number} in v1alpha1: {reply.body.get('message')}"


def _store_others(site: Site) -> Iterator[str]:
    namespace = _namespace(site.line)
    adapters = {
        version: {"replicas": 1, "dgdRef": {"name": "g", name: "w"}} for version, name in ((ALPHA, "serviceName"), (BETA, "componentName"))
    }
    objects = [make("DGDSA", version, namespace, spec, name=version) for version, spec in adapters.items()]
    objects.append(make("MODEL", ALPHA, namespace, {"modelName": "a", "baseModelName": "b"}))
    objects.append(make("DWM", ALPHA, namespace, {"data": {"a": 1}}))
    objects += [checkpoint(namespace)] if site.line < Line.V1_5 else []
    replies = [site.write(obj) for obj in objects]
    yield from (f"on line {site.line}: {reply.body}" for reply in replies if reply.status != 201)


def _list_unlike_conversions(site: Site) -> Iterator[str]:
    """Objects of this line of which one version doesn't show what conversion offline makes of the other one."""
    now = {name: obj for name, obj in site.everything().items() if name[2] == _namespace(site.line)}
    for (kind, version, namespace, name), obj in now.items():
        if other := BY_NAME[kind].other(version):
            made = convert(kind_of(kind, site.line), copy.deepcopy(obj), other).object
            prune(made, load_schema(kind, other, site.line))
            shown = now[kind, other, namespace, name]
            if not has_all(shown["spec"], made["spec"]):
                yield f"on line {site.line} {kind} {name}: {made['spec']} is shown in {other} as {shown['spec']}"
