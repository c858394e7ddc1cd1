"""Sentences of rules in both versions: each names fields as its reader's version does, and a value is never taken for a reference."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from dynamo_webhooks.admission.judging import judge as evaluate
from dynamo_webhooks.admission.judging import reword_finding
from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import ALPHA, BETA
from dynamo_webhooks.api.paths import Key
from dynamo_webhooks.api.paths import Path as FieldPath
from dynamo_webhooks.api.schema import resolve, whole_schema
from dynamo_webhooks.cli.commands.explain.rule import make_page, markdown
from dynamo_webhooks.conversion.engine import convert
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.translate import translate_path
from dynamo_webhooks.policies import rule as room
from dynamo_webhooks.policies.answer import format_finding
from dynamo_webhooks.policies.facts import Facts
from dynamo_webhooks.policies.review import CREATE, UPDATE, Review
from dynamo_webhooks.policies.rule import DCD_V1ALPHA1, DGD, Rule
from dynamo_webhooks.policies.words import NAMES, VersionText, format_words
from tests.policies.example_runs import RULES, tell

GRAPH: Final = "DynamoGraphDeployment"
VERSIONS: Final = (ALPHA, BETA)
REFERENCE: Final = re.compile("|".join(re.escape(f"{{{name}}}") for name in NAMES))
# where a name must be one: in code, in a path, or by its capitals
NAME: Final = re.compile(r"(?<=[`.])\w+|\w+(?=`|\.\w)|\w*[a-z]\w*[A-Z]\w*")
SERVICE: Final = re.compile(r"(?<!memory )\b[Ss]ervices?\b")
VALUES: Final = {
    "container",  # of the annotation that chooses the discovery mode
    "grove",  # of its API group; below experimental it is a block of v1beta1
    "itl",  # and ttft: below profilingConfig.config, whose schema is open
    "ttft",
}
GPUS: Final = "resources.limits[nvidia.com/gpu]"  # always said to be those of the main container
COMPONENT: Final = ("spec", "services", Key("w"))
OBJECT: Final[dict[str, Any]] = {"spec": {"services": {"w": {}}}}
OTHER: Final[dict[str, Any]] = {"spec": {"components": [{"name": "w"}]}}


def _place(*path: str | int) -> FieldPath:
    place = translate_path(KINDS[GRAPH], path, OBJECT, BETA, OTHER)
    assert place.exact, path
    return place.path


def _dotted(path: FieldPath) -> str:
    return ".".join(map(str, path))


def test_names_of_fields_are_those_of_the_lenses() -> None:
    of_component = ("checkpoint", "componentType", "extraPodSpec", "failover", "gpuMemoryService", "sharedMemory.size")
    names = {name: _dotted(_place(*COMPONENT, *name.split("."))[3:]) for name in of_component}
    names["services"] = _dotted(_place("spec", "services")[1:])
    names["service"] = names["services"].removesuffix("s")
    names["topologyProfile"] = _dotted(_place("spec", "topologyConstraint", "topologyProfile")[2:])
    *above, limits, gpu = _place(*COMPONENT, "resources", "limits", "gpu")
    assert above[-3:] == ["containers", "main", "resources"]
    names["resources.limits.gpu"] = f"resources.{limits}[{gpu}] of the main container"
    for field in ("command", "image"):
        *pod, containers, main, last = _place(*COMPONENT, "extraPodSpec", "mainContainer", field)[3:]
        names[f"extraPodSpec.mainContainer.{field}"] = f"{last} of the container {main} in {_dotted((*pod, containers))}"
    cache_of = {"services": {"w": {"volumeMounts": [{"name": "c", "mountPoint": "/c", "useAsCompilationCache": True}]}}}
    [made] = convert(KINDS[GRAPH], {"spec": cache_of}, BETA).object["spec"]["components"]
    [names["useAsCompilationCache"]] = made.keys() - {"name", "podTemplate"}
    [names["mountPoint"]] = made[names["useAsCompilationCache"]].keys() - {"pvcName"}
    for spelling in ("intraPod", "interPod"):
        gms = {"gpuMemoryService": {"enabled": True, "mode": spelling}}
        [there] = convert(KINDS[GRAPH], {"spec": {"services": {"w": gms}}}, BETA).object["spec"]["components"]
        names[spelling] = there["experimental"]["gpuMemoryService"]["mode"]
    assert names == NAMES


@cache
def _names(kind: str, version: str) -> frozenset[str]:
    """All names of fields of a kind, those of the Kubernetes types in it included."""
    seen: set[str] = set()

    def walk(node: Any) -> Iterator[str]:
        if isinstance(node, list):
            for item in node:
                yield from walk(item)
        elif isinstance(node, dict):
            if (reference := node.get("$ref")) is not None:
                if reference in seen:
                    return
                seen.add(reference)
                node = resolve(node)
            yield from node.get("properties") or ()
            for item in node.values():
                yield from walk(item)

    return frozenset(walk(whole_schema(kind, version)))


@cache
def _moved(kind: str) -> frozenset[str]:
    """Fields of a component of v1alpha1 that v1beta1 has elsewhere; a bare name would not find them."""
    if kind == "DynamoGraphDeploymentRequest":
        return frozenset()
    services = whole_schema(GRAPH, ALPHA)["properties"]["spec"]["properties"]["services"]
    fields = services["additionalProperties"]["properties"]
    places = {name: translate_path(KINDS[GRAPH], (*COMPONENT, name), OBJECT, BETA, OTHER) for name in fields}
    return frozenset(name for name, place in places.items() if place.exact and place.path[3:] != (name,))


def foreign(text: str, kind: str, version: str, *, of_graph: bool = False) -> set[str]:
    """The names in a text that a version doesn't have, or has elsewhere; quoted values aside."""
    if kind not in KINDS:
        return set()
    bare = re.sub(r'"[^"]*"', '""', text).replace(GPUS, "")
    other = ALPHA if version == BETA else BETA
    only = _names(kind, other) - _names(kind, version) - VALUES
    moved = _moved(kind) if version == BETA else frozenset()
    names = {name[0] for name in NAME.finditer(bare) if name[0] in only or (name[0] in moved and not bare[: name.start()].endswith("."))}
    return names | ({"service"} if of_graph and version == BETA and SERVICE.search(bare) else set())


def test_the_check_finds_names_of_the_other_version() -> None:
    rows: list[tuple[str, str, set[str]]] = [
        ("must not be enabled without gpuMemoryService", BETA, {"gpuMemoryService"}),
        ("must not be enabled without experimental.gpuMemoryService", BETA, set()),
        ("set `mountPoint`", BETA, {"mountPoint"}),
        ("under `spec.services`", BETA, {"services", "service"}),
        ("must keep the service", BETA, {"service"}),
        ("of the GPU memory service", BETA, set()),
        ('got "componentType" and "service"', BETA, set()),
        ("must be 1 beside readinessProbe", BETA, {"readinessProbe"}),
        ("must be 1 beside readinessProbe", ALPHA, set()),
        ("set `sharedMemorySize`", ALPHA, {"sharedMemorySize"}),
        ("in `spec.components`", ALPHA, {"components"}),
    ]
    assert [(text, reported) for text, version, names in rows if (reported := foreign(text, GRAPH, version, of_graph=True)) != names] == []


def _of_graph(rule: Rule) -> bool:
    return ".policies.graph." in rule.module


def test_a_rule_speaks_to_authors_of_either_version_in_their_names(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule.name):
            assert tell(rule)
            for version, finding, known in tell(rule):
                kind = rule.kinds[0].partition("/")[0]
                fix = finding.fix or rule.fix_in(version)
                for text in (finding.text, fix) if known else ():
                    assert not foreign(text, kind, version, of_graph=_of_graph(rule)), text
                for text in (format_finding(finding), fix, finding.other_text, finding.other_fix):
                    assert not REFERENCE.search(text), text
                    assert "VersionText(" not in text


def _known(rule: Rule) -> set[str]:
    """The versions that have the fields which the rule is about."""
    read = rule.kinds[0].partition("/")[2]
    return {read, *(version for version, _, known in tell(rule) if known)}


def test_a_remedy_is_in_the_names_of_its_version(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule.name):
            kind, _, read = rule.kinds[0].partition("/")
            assert rule.fix == rule.fix_in(read)
            for text in (rule.title, rule.why, rule.fix_in(ALPHA), rule.fix_in(BETA), markdown(make_page(rule), examples=False)):
                assert not REFERENCE.search(text), text
            for version in _known(rule):
                assert not foreign(rule.fix_in(version), kind, version, of_graph=_of_graph(rule)), version


ROOM: Final = Path(room.__file__).parent
SHARED: Final = [ROOM / f"{name}.py" for name in ("components", "gpu", "grove", "patterns", "unchanged")]
SOURCES: Final = sorted([*SHARED, *(file for folder in ("component", "graph", "request") for file in (ROOM / folder).glob("*.py"))])


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format_words":
            yield node


def _constants(node: ast.expr) -> Iterator[str]:
    """The templates of a call; anything but constants fails, since a value in a template would be read as one."""
    if isinstance(node, ast.IfExp):
        yield from _constants(node.body)
        yield from _constants(node.orelse)
    else:
        assert isinstance(node, ast.Constant), ast.unparse(node)
        assert isinstance(node.value, str)
        yield node.value


def test_templates_are_constants_whose_references_are_known() -> None:
    seen = 0
    for source in SOURCES:
        for call in _calls(ast.parse(source.read_text())):
            values = {keyword.arg for keyword in call.keywords}
            for template in _constants(call.args[0]):
                used = set(re.findall(r"\{([^{}]+)\}", template))
                assert used - set(NAMES) <= values <= used, f"{source.name}: {template}"
                seen += 1
    assert seen > 40


def _documented(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            assert isinstance(node.body[0], ast.Expr)
            yield node.body[0].value


def _sentences(source: Path) -> Iterator[str]:
    """All texts of a module that hold a blank, but for its documentation and its declarations of differences."""
    tree = ast.parse(source.read_text())
    passed = {id(node) for node in _documented(tree)}
    for node in ast.walk(tree):
        declares = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("differs", "VersionText")
        why = isinstance(node, ast.keyword) and node.arg == "because"
        if declares or why:
            passed |= {id(inner) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in passed:
            yield node.value


def test_no_text_of_a_rule_is_written_in_the_names_of_one_version(subtests: pytest.Subtests) -> None:
    """Texts that no example brings about, too."""
    for source in SOURCES:
        with subtests.test(f"{source.parent.name}/{source.name}"):
            rules = [rule for rule in RULES if rule.module.endswith(f".{source.parent.name}.{source.stem}")]
            kind = rules[0].kinds[0].partition("/")[0] if rules else GRAPH
            for text in _sentences(source):
                for version in {version for rule in rules for version in _known(rule)} if rules else VERSIONS:
                    assert not foreign(format_words(text).of(version), kind, version, of_graph=source.parent.name == "graph"), text


def test_a_value_is_never_read_as_a_reference() -> None:
    for name in ("{service}", "{gpuMemoryService} service", 'a" service "b', "\x01{name}\x02"):
        assert format_words('a {service} "{name}" {name: x} {}', name=name) == VersionText(
            f'a service "{name}" {{name: x}} {{}}', f'a component "{name}" {{name: x}} {{}}'
        )
        restart = {"id": "r", "strategy": {"order": ["w", name]}}
        findings = evaluate(Review(DGD, CREATE, {"spec": {"components": [{"name": "w"}], "restart": restart}}, facts=Facts(grove=True)))
        refusal = next(finding for finding in findings if finding.rule.name == "restart-order-unknown")
        assert refusal.text == f'must be a component of this graph, got "{name}"'
        assert reword_finding(refusal, ALPHA).text == f'must be a service of this graph, got "{name}"'


def test_values_are_put_into_the_words_of_their_version() -> None:
    text = format_words("{seen} in {mode}, {count}", seen=format_words("{failover}"), mode=format_words("{interPod}"), count=2)
    assert text == VersionText("failover in interPod, 2", "experimental.failover in InterPod, 2")
    assert (text.of(ALPHA), text.of(BETA)) == text.both(ALPHA) == text.both(BETA)[::-1] == text
    assert format_words("100% of {what} {}", what="%s {failover}") == VersionText(*["100% of %s {failover} {}"] * 2)


def test_the_ratchet_compares_what_the_rule_said() -> None:
    """A finding of an update is forgiven by its words in the version that is read, whoever asks."""
    spec = {"failover": {"enabled": True, "mode": "interPod"}, "gpuMemoryService": {"enabled": True, "mode": "intraPod"}}
    old = {"spec": spec}
    assert "failover-interpod-mode-mismatch" in {
        each.rule.name for each in evaluate(Review(DCD_V1ALPHA1, CREATE, old, facts=Facts(dra=True)))
    }
    assert evaluate(Review(DCD_V1ALPHA1, UPDATE, old, old, facts=Facts(dra=True))) == []
    there = convert(KINDS["DynamoComponentDeployment"], old, BETA).object
    write = Admission("DynamoComponentDeployment", BETA, UPDATE, there, there, user="", settings=Settings(Facts(dra=True)))
    assert write.judge() == []
