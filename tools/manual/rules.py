"""The pages of the rules: the tables of the index, and one page for each rule, default and check."""

import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, TypeAlias

import yaml

from dynamo_webhooks.admission.pipeline import Admission, Settings
from dynamo_webhooks.api.kinds import BY_NAME, api_version
from dynamo_webhooks.api.line import OLDEST, Line
from dynamo_webhooks.cli.commands.explain.rule import complete_page, find, format_other_version, list_names
from dynamo_webhooks.cli.yaml.load import load_documents
from dynamo_webhooks.conversion.bounds import TOO_LONG
from dynamo_webhooks.conversion.kinds import KINDS
from dynamo_webhooks.conversion.lens.protocol import ConversionError
from dynamo_webhooks.conversion.objects import Target, convert_object, target
from dynamo_webhooks.conversion.remainder import annotation_keys
from dynamo_webhooks.policies.catalogue import find_rule, list_all
from dynamo_webhooks.policies.rule import Rule
from dynamo_webhooks.policies.rule_sections import format_diff
from tests.policies.examples import Example, parse
from tools.manual.console import PageError, terminal
from tools.manual.markdown import format_table

Object: TypeAlias = dict[str, Any]

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

# what an annotation of conversion keeps, with a claim that lacks what v1alpha1 requires
_CLAIM: Final = '{"spec": {"pvcs": [{"name": "data", "create": true}]}}'

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
    "kept-value-mismatch": _WORKER.replace("namespace: llm}", f"namespace: llm, annotations: {{nvidia.com/dgd-spec: '{_CLAIM}'}}}}"),
    "request-owner": f"apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeploymentRequest\n{_HEAD}spec: {{v1beta2: {{}}}}\n",
    "unfilled-placeholder": f"{_WORKER}      replicas: ${{REPLICAS}}\n",
}
# check -> the file as it was, where the check compares with that
BEFORE: Final[dict[str, str]] = {"stays-after-move": f"{_GRAPH}      ingress: {{enabled: true, host: chat.example.com}}\n"}


def show_example(name: str) -> str:
    """The file and the report, as parts of a page; empty for a check without a file. Raises: PageError when the check finds nothing."""
    if name not in FILES:
        return ""
    long = "".join(sha256(str(number).encode()).hexdigest() for number in range(400_000 // 64))  # the same each time
    with terminal() as session:
        session.write("graph.yaml", FILES[name].replace(_LONG, long))
        line = f"dynamo-webhooks check graph.yaml --select {name}"
        if name in BEFORE:
            session.write("before.yaml", BEFORE[name])
            line += " --old before.yaml"
        if name == "request-owner":
            line += " --line 1.7"
        printed = session.run(line)
    if not re.search(rf" (?:error|warning) {name} \(", printed):
        raise PageError(f"the file of {name} in tools/manual/rules.py has no such finding: {printed.strip()}")
    body = "".join(f"{each.rstrip()}\n" for each in printed.splitlines())
    before = f"The stored object, `before.yaml`:\n\n```yaml\n{BEFORE[name]}```\n\n`graph.yaml`:\n\n" if name in BEFORE else ""
    return f"## Example\n\n{before}```yaml\n{FILES[name]}```\n\n```console\n$ {line}\n{body}```"


HEADER: Final = "<!-- written by `make docs` (tools/pages.py) from the rules themselves; edit those, not this file -->"
_FAULT: Final = (
    *("DYN000", "`fault`", "A rule raised an exception: an internal error, 500 from the server and exit code 70 from `check`", "fault"),
    *[""] * 5,
)
_LEVELS: Final = {"default": "a default", "error": "an error", "warning": "a warning"}
_FRAGMENTS: Final = "Examples are parts of objects; `--- # becomes` separates the stored object from its update."
_DIFF: Final = f"Lines with `-` have the mistake, and lines with `+` replace them; `# expect` marks the reported line. {_FRAGMENTS}"
_OBJECTS: Final = f"The submitted object, and the stored one. {_FRAGMENTS}"


def list_every_rule() -> str:
    """All rules, defaults and checks: code, name, title, kinds and fields, facts."""
    rows = []
    for rule in list_all():
        looks = "<br>".join(f"{kind} `{where or '.'}`" for kind, where in rule.where.items())
        name = f"[`{rule.name}`](rules/{rule.name}.md)"
        cells = [rule.code, name, rule.title.rstrip("."), format_level(rule), " ".join(rule.operations), looks, " ".join(rule.needs)]
        rows.append([*cells, format_span(rule), "differs" if rule.difference else ""])
    return format_table("code | name | title | level | operations | looks at | facts | operator | 1.2", [*rows, _FAULT])


def format_span(rule: Rule) -> str:
    """Which operator releases have a rule; empty for all."""
    first, last = rule.lines[0], rule.lines[-1]
    return "" if len(rule.lines) == len(Line) else f"since {first}" if first != OLDEST else f"up to {last}"


def format_level(rule: Rule) -> str:
    """Returns the index's word for a rule: its level, or a default."""
    return "default" if rule.is_default else rule.level.value


def make_rule_pages() -> dict[str, str]:
    """Every page by its file below docs/."""
    return {f"rules/{name}.md": _page(name) for name in list_names()}


def _page(name: str) -> str:
    entry = find(name)
    assert entry is not None, name  # noqa: S101 - the names are those that have a page
    page = complete_page(entry)
    rule = find_rule(name)
    assert rule is not None, name  # noqa: S101 - as above
    parts = [
        HEADER,
        f"# {name}",
        f"{page['code']}, {_LEVELS[page['level']]}. {page['title']}",
        f"**Why.** {page['why']}",
        *([f"**Fix.** {page['fix']}"] if page["fix"] else []),
        *(_of_check(rule) if rule.is_check else _of_rule(rule, page)),
        *([example] if (example := show_example(name)) else []),
        *_examples(rule),
        *([] if rule.is_default else _ignoring(name)),
        f"In a terminal: `dynamo-webhooks explain {name}`. [All rules](../rules.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _of_rule(rule: Rule, page: dict[str, Any]) -> Iterator[str]:
    looks = "<br>".join(_format_location(location) for location in page["looksAt"])
    lines = ["| | |", "| --- | --- |", f"| looks at | {looks} |"]
    lines.append(f"| operations | {', '.join(word.lower() for word in page['operations'])} |")
    if page["facts"]:
        facts = ", ".join(f"[`{fact}`](../ci.md#facts-of-the-cluster)" for fact in page["facts"])
        lines.append(f"| facts | {facts}; without them a server refuses |")
    if len(rule.lines) < len(Line):
        lines.append(f"| operator releases | {', '.join(rule.lines)} |")
    if not rule.is_default:
        kept = "accepted" if rule.ratchets else "refused, too"
        lines.append(f"| on updates | a mistake that the stored object already has is {kept} |")
    yield "\n".join(lines)
    for difference in page["differences"]:
        only = "It doesn't have this rule" if difference["lacking"] else "It decides differently"
        text = f"{only}; the reason for this rule: {difference['because']}"
        yield f"**Difference from the Go operator 1.2.** {text}. [All differences](../differences.md)."


def _format_location(location: dict[str, Any]) -> str:
    fields = " or ".join(f"several entries in `{field[:-2]}`" if field.endswith(">1") else f"`{field}`" for field in location["fields"])
    return f"{location['kind']} `{location['path']}`{format_other_version(location)}" + (f", with {fields}" if fields else "")


_ROLES: Final = (
    "The API server's schema or `check` finds it; in pod templates of roles, whose longest parts definitions leave open, "
    "the webhook server does."
)
# check -> where else than in `check` it is made, and when it is a warning
_WHERE_ELSE: Final = {
    "unknown-field": "With `--validate=warn`, and for objects that are read from a cluster, what the API server finds is a warning.\n\n"
    f"{_ROLES}",
    "schema-mismatch": _ROLES,
    "long-remainder": "From half the limit, and on updates of an object that was too long already, this is a warning. "
    "The server makes the same check.",
    "kept-value-mismatch": "The server makes the same check.",
    "request-owner": "The server makes the same check.",
}


def _of_check(rule: Rule) -> Iterator[str]:
    yield _WHERE_ELSE.get(rule.name, "The webhook server doesn't evaluate this rule: the API server, its schema or `check` finds it.")


def _examples(rule: Rule) -> Iterator[str]:
    """The examples in both versions, v1beta1 first; of a kind with one version as they are."""
    if rule.is_check:
        return
    written, other, twin = rule.kinds[0].partition("/")[2], other_version(rule), list_twins(rule)
    yield f"## Example\n\n{_OBJECTS if rule.is_default else _DIFF}"
    if other is None:
        yield from _fenced(rule, rule.examples)
    elif not twin:
        what = "has no effect on" if rule.is_default else "doesn't apply to"
        yield f"Only in {written}: the {'default' if rule.is_default else 'rule'} {what} these examples converted to {other}."
        yield from _fenced(rule, rule.examples)
    else:
        for version, examples in sorted(((written, rule.examples), (other, twin)), reverse=True):
            yield f"In {version}:"
            yield from _fenced(rule, examples)


def _fenced(rule: Rule, examples: Iterable[tuple[str, str]]) -> Iterator[str]:
    if rule.is_default:
        yield from (f"```yaml\n{block}```" for each in examples for block in each)
    else:
        yield from (f"```diff\n{format_diff(*each)}```" for each in examples)


def _ignoring(name: str) -> Iterator[str]:
    yield "## Ignore it"
    yield (
        "A comment with a reason on the same line, or on the line above, makes `check` ignore the rule there; API servers ignore it. To\n"
        f"ignore the rule everywhere, use `--ignore {name}`; for all current findings, use "
        "[a baseline](../ci.md#an-old-repository-with-many-findings)."
    )
    yield f"```yaml\n# dynamo-webhooks: ignore[{name}] reason\n```"


# examples in the kind's other version: converted without annotations, judged as by a server, and marked where it reports
_DIRECTIVE: Final = re.compile(r"^# (?:facts|user|op): .*$", re.MULTILINE)
_MAX_COLUMNS: Final = 120


def other_version(rule: Rule) -> str | None:
    """The version that the rule's examples aren't written in; None for a kind of one version."""
    name, _, written = rule.kinds[0].partition("/")
    return BY_NAME[name].other(written) or None if name in KINDS else None


def list_twins(rule: Rule) -> list[tuple[str, str]]:
    """The examples of the rule in the other version, as far as a server says the same of them there; none without a mistake there."""
    if rule.is_default:
        return [pair for example in rule.examples if (pair := convert_default(rule, *example))]
    pairs = [(convert_block(rule, bad), convert_block(rule, good)) for bad, good in rule.examples]
    return [pair for pair in pairs if any(pair)] if any(bad for bad, _ in pairs) else []


def convert_block(rule: Rule, block: str) -> str:
    """One side of an example in the other version; "" where the server doesn't say the same of it there, or there is no other version."""
    if not block:
        return ""
    example = parse(block, rule.kinds[0], rule.name)
    twin = _twin(example)
    if twin is None:
        return ""
    reported = _reported(twin)
    if sorted(name for names in reported.values() for name in names) != sorted(each.rule.name for each in _admission(example).judge()):
        return ""
    return _block(block, twin, rule.name, reported)


def convert_default(rule: Rule, before: str, after: str) -> tuple[str, str] | None:
    """A Before and an After block in the other version; None where our defaults don't lead from one to the other there."""
    first = _twin(parse(before, rule.kinds[0], rule.name))
    second = _twin(parse(after, rule.kinds[0], rule.name))
    if first is None or second is None or first.fragment == second.fragment:
        return None
    obj = _admission(first).defaults().object
    if any(obj.get(part) != _admission(second).defaults().object.get(part) for part in ("metadata", "spec")):
        return None
    return _block(before, first, rule.name, {}), _block(after, second, rule.name, {})


def _twin(example: Example) -> Example | None:
    """The example in its kind's other version, without what conversion would keep in annotations."""
    name, _, written = example.kind.partition("/")
    if name not in KINDS:
        return None
    version = BY_NAME[name].other(written)
    try:
        wanted = target(api_version(version), example.facts.line)
        new = _plain(name, written, example.fragment, wanted)
        old = None if example.old_text is None else _plain(name, written, yaml.safe_load(example.old_text), wanted)
    except ConversionError:
        return None
    return replace(example, kind=f"{name}/{version}", text=_dumped(new), old_text=None if old is None else _dumped(old), marks={})


def _plain(name: str, written: str, fragment: Object, wanted: Target) -> Object:
    obj = {"apiVersion": api_version(written), "kind": name, **copy.deepcopy(fragment)}
    result = dict(convert_object(obj, wanted, whole=True).object)
    kind = KINDS[name]
    reserved = {*annotation_keys(kind), *(kind.legacy.keys if kind.legacy else ())}
    metadata = dict(result.pop("metadata"))
    if annotations := {key: text for key, text in (metadata.pop("annotations", None) or {}).items() if key not in reserved}:
        metadata["annotations"] = annotations
    del result["apiVersion"], result["kind"]
    return {"metadata": metadata, **result} if metadata else result


def _admission(example: Example) -> Admission:
    """The write that the example shows."""
    review = example.review()
    name, _, version = example.kind.partition("/")
    settings = Settings(facts=example.facts)
    return Admission(name, version, example.operation, review.object, review.old, user=example.user, settings=settings)


def _reported(example: Example) -> dict[int, list[str]]:
    """The rules that a server names, by the line of the new object's text."""
    document = load_documents(example.text, "example")[0]
    rules: dict[int, list[str]] = {}
    for finding in _admission(example).judge():
        rules.setdefault(document.position(finding.path).line, []).append(finding.rule.name)
    return rules


def _block(block: str, twin: Example, rule: str, reported: dict[int, list[str]]) -> str:
    """The text of a page: directives, the old object, and the new one with its marks."""
    lines = twin.text.splitlines()
    for number, rule_names in reported.items():
        listed = sorted(set(rule_names))
        lines[number - 1] += "  # expect" if listed == [rule] else f"  # expect: {', '.join(listed)}"
    kind = [f"# kind: {twin.kind}"] if "# kind:" in block else []
    old = [] if twin.old_text is None else [*twin.old_text.splitlines(), "--- # becomes"]
    return "\n".join([*kind, *_DIRECTIVE.findall(block), *old, *lines]) + "\n"


def _dumped(fragment: Object) -> str:
    """A fragment as people write it: leaves in one line."""
    return yaml.safe_dump(fragment, sort_keys=False, default_flow_style=None, width=_MAX_COLUMNS, allow_unicode=True)
