"""`check --add-ignores`: comments with a reason where findings are; what else a file holds stays, and a second run changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamo_webhooks.cli.commands.check.fix import ignore_findings
from dynamo_webhooks.cli.commands.check.suppress import suppress
from dynamo_webhooks.cli.validation.finding import report_own
from dynamo_webhooks.cli.yaml.load import Position, Source, load_documents
from dynamo_webhooks.policies.checks import SCHEMA_RULE, WRONG_TYPE
from tests.cli.conftest import Command, Files
from tests.cli.samples import BAD, BAD_RULE, GOOD, IMAGE, WARNED
from tests.rows import run_each

WARN = "warn-dynamo-namespace"
REASON = "agreed in 42"


def test_a_comment_stands_above_the_line_of_each_finding(command: Command, files: Files) -> None:
    text = f"# ours\n{BAD}---\n{WARNED}".replace("\n", "\r\n")
    folder = files(a=text, good=GOOD, twice=GOOD.replace("name: good", "name: t").replace("replicas: 2", "replicas: -1"))
    assert command("check", "twice.yaml", "--add-ignores", REASON).code == 0
    assert "ignore[replicas-non-negative] agreed" in (folder / "twice.yaml").read_text(), "what the schema says of it needs no word"
    (folder / "twice.yaml").unlink()
    shown = command("check", ".", "--add-ignores", REASON, "--diff")
    assert (shown.code, (folder / "a.yaml").read_bytes()) == (1, text.encode())
    added = [line.strip() for line in shown.out.splitlines() if line[:1] == "+"]
    assert added[1:] == [f"+      # dynamo-webhooks: ignore[{rule}] {REASON}" for rule in (BAD_RULE, WARN)]
    ran = command("check", ".", "--add-ignores", REASON)
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "a.yaml: 2 ignored",
        "3 objects checked for operator 1.6 (the default; --line names another): 2 ignored by comment",
    ]
    wanted = text.replace("      ingress:", f"      # dynamo-webhooks: ignore[{BAD_RULE}] {REASON}\r\n      ingress:")
    wanted = wanted.replace("      dynamoNamespace:", f"      # dynamo-webhooks: ignore[{WARN}] {REASON}\r\n      dynamoNamespace:")
    written = (folder / "a.yaml").read_bytes()
    assert written == wanted.encode()
    again = command("check", ".", "--add-ignores", "another")
    assert (again.code, (folder / "a.yaml").read_bytes()) == (0, written)
    assert (folder / "good.yaml").read_text() == GOOD


def test_findings_of_one_line_share_a_comment(command: Command, files: Files) -> None:
    worker = f"{{componentType: worker, dynamoNamespace: old, ingress: {{enabled: true}}, {IMAGE}}}"
    flow = f"metadata: {{name: g}}\nspec: {{services: {{worker: {worker}}}}}\n"
    folder = files(a=f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n{flow}")
    assert command("check", "a.yaml", "--add-ignores", REASON).code == 0
    assert f"\n# dynamo-webhooks: ignore[{BAD_RULE}, {WARN}] {REASON}\nspec: " in (folder / "a.yaml").read_text()


def test_a_comment_without_a_reason_gets_it(command: Command, files: Files) -> None:
    bare = f"      ingress: {{enabled: true}}  # dynamo-webhooks: ignore[{BAD_RULE}]"
    text = BAD.replace("      ingress: {enabled: true}", f"{bare}  ")
    folder = files(a=text)
    assert command("check", "a.yaml", "--add-ignores", REASON).code == 0
    assert (folder / "a.yaml").read_text() == text.replace(f"{bare}  ", f"{bare} {REASON}  ")


def test_only_what_counts_is_ignored(command: Command, files: Files) -> None:
    folder = files(a=BAD, b=WARNED)
    assert command("check", "a.yaml", "--baseline", "known.json", "--update-baseline").code == 0
    assert command("check", ".", "--baseline", "known.json", "--add-ignores", REASON).err.startswith("b.yaml: 1 ignored\n")
    assert (folder / "a.yaml").read_text() == BAD
    assert command("check", "a.yaml", "--ignore", BAD_RULE, "--add-ignores", REASON).code == 0
    assert (folder / "a.yaml").read_text() == BAD


def test_json_and_links_are_left_as_they_are(command: Command, files: Files) -> None:
    folder = files(raw_json='{"apiVersion": "nvidia.com/v1beta1", "kind": "Dynamo", "metadata": {"name": "x"}}\n')
    (folder / "target").write_text(BAD)
    (folder / "link.yaml").symlink_to("target")
    ran = command("check", "raw_json", "link.yaml", "--add-ignores", REASON, "-q")
    assert ran.code == 1
    assert ran.err.splitlines()[:2] == [
        "link.yaml is left as it is: it is a link; name its target if that is to be written",
        "raw_json is left as it is: JSON has no comments; accept its findings by --baseline",
    ]
    assert (folder / "target").read_text() == BAD
    assert (folder / "link.yaml").is_symlink()


TEXTS = """\
a: |
  one
  two
b: >-

  three
c: "four
  five"
d: six
  seven
e: {f: 'g
  h', i: j,
  k: l}
m:
  - |2
     n
  - o
# p
q:
  r
"""
INSIDE = {2, 3, 5, 6, 8, 10, 12, 16}
A_COMMENT = 18


@run_each("line", sorted({*range(1, TEXTS.count("\n") + 1)} - {A_COMMENT}))
@pytest.mark.parametrize("prefix", ["", "z: 1\n---\n"])
def test_a_line_inside_a_text_gets_no_comment(capsys: pytest.CaptureFixture[str], line: int, prefix: str) -> None:
    source = Source("a.yaml", prefix + TEXTS)
    at = line + prefix.count("\n")
    finding = report_own(WRONG_TYPE, "error", "decode", source, Position(at, 1, 2), None, "", "x")
    done, code = ignore_findings([finding], REASON)
    if line in INSIDE:
        assert (done, code) == ([], 1)
        assert capsys.readouterr().err.startswith(f"a.yaml:{at}: no comment can be written above the line, which is inside a text")
        return
    (one,) = done
    assert [document.data for document in load_documents(one.text)] == [document.data for document in load_documents(source.text)]
    moved = finding._replace(source=Source("a.yaml", one.text), position=Position(at + 1, 1, 2))
    assert suppress(moved.source, [moved])[0] == []


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=60)
@given(st.dictionaries(st.text(min_size=1, max_size=4), VALUES, min_size=1, max_size=4), st.booleans(), st.integers(1, 40), st.data())
def test_no_comment_changes_what_a_text_means(data: dict[str, object], flow: bool, width: int, draw: st.DataObject) -> None:
    import yaml

    text = yaml.safe_dump(data, default_flow_style=flow or None, width=width, allow_unicode=True)
    source = Source("a.yaml", text)
    lines = draw.draw(st.sets(st.integers(1, max(1, text.count("\n"))), max_size=5))
    findings = [report_own(SCHEMA_RULE, "error", "schema", source, Position(line, 1, 2), None, "", "x") for line in lines]
    for one in ignore_findings(findings, REASON)[0]:
        assert [document.data for document in load_documents(one.text)] == [document.data for document in load_documents(text)]
