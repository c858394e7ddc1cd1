"""`check --baseline`: known findings do not count, whatever moves around them; what is no longer found is told and removed on request."""

import json
from pathlib import Path
from typing import Any

from dynamo_webhooks.cli.commands.check.baseline import make_fingerprint, make_fingerprints
from dynamo_webhooks.cli.objects.manifest import Identity
from dynamo_webhooks.cli.validation.finding import LocatedFinding
from dynamo_webhooks.cli.validation.levels import FAULT
from dynamo_webhooks.cli.yaml.load import Position, Source
from tests.cli.conftest import Command, Files, Ran
from tests.cli.samples import BAD, BAD_CODE, BAD_RULE, BY_DEFAULT, GOOD, IMAGE, MODEL, NEEDS_GROVE, WARNED
from tests.rows import run_each

FILE = "known.json"
TWO = BAD + f"    second:\n      componentType: worker\n      ingress: {{enabled: true}}\n      {IMAGE}\n"
MENDED = BAD.replace("{enabled: true}", "{enabled: false}")


UNSCHEMATIC = BAD.replace("ingress: {enabled: true}", "replicas: 1\n      resources: {limits: {gpu: x}}").replace(
    "spec:\n", "spec:\n  backendFramework: none\n"
)


def _update(command: Command, *words: str) -> Ran:
    return command("check", "--baseline", FILE, "--update-baseline", *words)


def _check(command: Command, *words: str) -> Ran:
    return command("check", "--baseline", FILE, *words)


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads(Path(FILE).read_text())["findings"]
    return entries


def test_the_file_is_stable_and_says_what_it_knows(command: Command, files: Files) -> None:
    files(a=BAD, b=WARNED)
    _update(command, "b.yaml", "a.yaml")
    first = Path(FILE).read_bytes()
    assert first.endswith(b"}\n")
    assert [(entry["name"], entry["rule"], entry["file"]) for entry in _entries()] == [
        ("bad", BAD_RULE, "a.yaml"),
        ("warned", "warn-dynamo-namespace", "b.yaml"),
    ]
    assert json.loads(first)["format"] == 1
    _update(command, "a.yaml", "b.yaml")
    assert Path(FILE).read_bytes() == first


def test_a_new_finding_counts(command: Command, files: Files) -> None:
    files(a=BAD)
    _update(command, "a.yaml")
    files(a=TWO)
    report = _check(command, "a.yaml", "-o", "json").json
    assert [(finding["rule"], finding["line"]) for finding in report["findings"]] == [(BAD_RULE, 14)]
    files(a=BAD, b=BAD.replace("name: bad", "name: other"))
    assert _check(command, "a.yaml", "b.yaml").code == 1
    files(b=BAD)  # one more of what is known is new
    report = _check(command, "a.yaml", "b.yaml", "-o", "json", "--ignore", "duplicate-object").json
    assert [finding["file"] for finding in report["findings"]] == ["b.yaml"]


def test_what_is_no_longer_found_is_told_and_removed(command: Command, files: Files) -> None:
    files(a=BAD, b=WARNED)
    _update(command, "a.yaml", "b.yaml")
    files(a=MENDED)
    ran = _check(command, "a.yaml")
    message = f"no longer found: {BAD_RULE} in DynamoGraphDeployment llm/bad, spec.services[worker].ingress.host"
    assert (ran.code, ran.err) == (
        0,
        f"{FILE}: {message}; --update-baseline removes it\n1 object {BY_DEFAULT}: nothing found\n",
    )
    assert _check(command, "a.yaml", "-q").err == ""
    ran = _update(command, "a.yaml")
    assert ran.err.startswith(f"{FILE}: 1 known, 0 new, 1 removed\n")
    assert [entry["name"] for entry in _entries()] == ["warned"]


def test_what_was_not_looked_at_stays_known(command: Command, files: Files) -> None:
    files(a=BAD, b=WARNED, g=NEEDS_GROVE, u=UNSCHEMATIC.replace("bad", "u"))
    _update(command, "a.yaml", "b.yaml", "g.yaml", "u.yaml", "--set-fact", "grove=false")
    names = [(entry["name"], entry["rule"]) for entry in _entries()]
    assert {name for name, _ in names} == {"bad", "graph", "u", "warned"}
    assert {rule for name, rule in names if name == "u"} == {"schema-mismatch", "resources-quantity-invalid"}
    files(a=MENDED)
    ways = "b.yaml", "g.yaml", "a.yaml --select warn-", f"a.yaml --ignore {BAD_CODE}", "a.yaml --old a.yaml"
    for words in (*ways, "u.yaml --no-schema", "u.yaml --op delete"):
        assert "no longer found" not in _check(command, *words.split()).err
        _update(command, *words.split())
        assert [(entry["name"], entry["rule"]) for entry in _entries()] == names, words


def test_a_rule_that_is_no_more_is_removed(command: Command, files: Files) -> None:
    files(a=MODEL)
    entry = {"fingerprint": "a", "kind": "DynamoModel", "namespace": "llm", "name": "m", "rule": "of-old", "path": "\x1b[31m\n"}
    Path(FILE).write_text(json.dumps({"format": 1, "findings": [entry]}))
    assert "no longer found: of-old in DynamoModel llm/m, \\x1b[31m\\n;" in _check(command, "a.yaml").err
    assert f"{FILE}: 0 known, 0 new, 1 removed" in _update(command, "a.yaml").err


def test_a_reason_that_somebody_wrote_stays(command: Command, files: Files) -> None:
    files(a=BAD)
    _update(command, "a.yaml")
    data = json.loads(Path(FILE).read_text())
    data["findings"][0]["reason"] = "until the gateway is there"
    Path(FILE).write_text(json.dumps(data))
    _update(command, "a.yaml")
    assert _entries()[0]["reason"] == "until the gateway is there"
    [finding] = _check(command, "a.yaml", "-o", "json").json["suppressed"]
    assert (finding["by"], finding["reason"]) == ("baseline", "until the gateway is there")


def test_a_finding_of_no_object_is_known_by_its_file(command: Command, files: Files) -> None:
    files(a=GOOD + "# dynamo-webhooks: ignore[DYN202]\n")
    _update(command, "a.yaml")
    assert [(entry["file"], entry["rule"]) for entry in _entries()] == [("a.yaml", "ignore-without-reason")]
    assert _check(command, "a.yaml").code == 0
    files(a=GOOD)
    assert f"no longer found: ignore-without-reason in a.yaml; {'--update-baseline'}" in _check(command, "a.yaml").err


@run_each(
    ("text", "sentence"),
    [
        (None, f"--baseline {FILE}: does not exist; --update-baseline writes it"),
        ("", f"--baseline {FILE}:1:1: must be JSON, as --update-baseline writes it"),
        ("{\n<<<<<<< HEAD\n", f"--baseline {FILE}:2:1: must be JSON"),
        ("[]", f"--baseline {FILE}: must be a baseline, an object with format and findings"),
        ('{"format": 2, "findings": []}', f"--baseline {FILE}: format must be 1, got 2"),
        ('{"format": 1, "findings": [1]}', f"--baseline {FILE}: findings[0] must be an object with a fingerprint"),
        ('{"format": 1, "findings": [{"fingerprint": "a", "rule": [2]}]}', "findings[0].rule must be a string, got [2]"),
        ("[" * 100_000, f"--baseline {FILE}: must be a baseline, is nested too deep or"),
        ("9" * 5000, f"--baseline {FILE}: must be a baseline, is nested too deep or holds"),
    ],
    ids=["missing", "empty", "merge", "list", "format", "entry", "word", "deep", "number"],
)
def test_a_baseline_that_cannot_be_used_is_wrong_usage(command: Command, files: Files, text: str | None, sentence: str) -> None:
    files(a=BAD)
    if text is not None:
        Path(FILE).write_text(text)
    ran = _check(command, "a.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    if text is not None:
        assert _update(command, "a.yaml").code == 2
        assert Path(FILE).read_text() == text


def _finding(**changes: Any) -> LocatedFinding:
    base = LocatedFinding(
        "rule", "DYN999", "error", "policies", Source("a", ""), Position(1, 1, 2), Identity("K", "n", "o"), "spec.a", "m", "f"
    )
    return base._replace(**changes)


def test_a_fingerprint_is_of_what_is_wrong_where() -> None:
    same = make_fingerprint(_finding(), 0)
    # published: baselines and code scanning remember it
    assert same == "18532321b490c9d218739a095db3189b"
    for kept in ({"position": Position(7, 8, 9)}, {"source": Source("b", "x")}, {"message": "other"}, {"level": FAULT}, {"fix": ""}):
        assert make_fingerprint(_finding(**kept), 0) == same
    for changed in ({"rule": "rul"}, {"identity": Identity("K", "no", "")}, {"path": "spec.b"}, {"identity": None}):
        assert make_fingerprint(_finding(**changed), 0) != same
    assert make_fingerprint(_finding(), 1) != same
    assert make_fingerprint(_finding(identity=None, source=Source("b", "")), 0) != make_fingerprint(_finding(identity=None), 0)
    named = make_fingerprints([_finding(), _finding(path="spec.b"), _finding(message="x")])
    assert named == [same, make_fingerprint(_finding(path="spec.b"), 0), make_fingerprint(_finding(), 1)]


def test_an_object_is_outdated_only_where_all_files_of_its_name_were_looked_at(command: Command, files: Files) -> None:
    """Overlays of one graph: a run over one of them says nothing of the others."""
    files(dev__g=BAD, prod__g=BAD)
    assert _update(command, "dev", "prod").code == 0
    known = _entries()
    for words in (["dev"], ["prod"], ["dev", "prod"]):
        ran = _check(command, *words)
        assert (ran.code, "no longer found" in ran.err) == (0, False), words
    _update(command, "prod")
    assert _entries() == known
    files(dev__g=MENDED)
    _update(command, "dev", "prod")
    assert {entry["file"] for entry in _entries()} == {"prod/g.yaml"}
