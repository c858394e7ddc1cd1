"""The index of rules: it says what the modules say, is left alone when it fits them no longer, and never speaks against them."""

import json
from pathlib import Path
from typing import Any

import pytest

from dynamo_webhooks.policies import catalogue
from dynamo_webhooks.policies.catalogue import INDEX, import_all, load_index
from dynamo_webhooks.policies.rule import Rule
from dynamo_webhooks.policies.rule_sections import RuleError
from tools import rule_index


def _indexed() -> list[Rule]:
    found = load_index()
    assert found is not None, "policies/index.json is stale: run make generate"
    return found


def test_the_index_is_what_its_writer_writes() -> None:
    assert Path(INDEX).read_text() == rule_index.text(), "run make generate"
    assert rule_index.main(["--check"]) == 0


def test_the_index_has_every_rule_as_it_is_declared() -> None:
    """In the same order, function and text included, which come from the module when they are first asked for."""
    for lazy, real in zip(_indexed(), import_all(), strict=True):
        assert lazy.declared() == real.declared()
        assert (lazy.check, lazy.documentation) == (real.check, real.documentation)
        assert (lazy.title, lazy.fix, lazy.kinds) == (real.title, real.fix, real.kinds)


def test_an_index_that_does_not_fit_the_modules_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content: dict[str, Any] = json.loads(Path(INDEX).read_text())
    content["modules"]["graph/service.py"] += 1
    stale = tmp_path / "index.json"
    stale.write_text(json.dumps(content))
    monkeypatch.setattr(catalogue, "INDEX", str(stale))
    assert load_index() is None
    assert rule_index.main(["--check"]) == 1
    stale.unlink()
    assert load_index() is None


def test_a_rule_that_its_module_declares_otherwise_is_an_error_and_no_verdict() -> None:
    lazy = _indexed()[0]
    changed = Rule(**{**lazy.declared(), "attribute": lazy.attribute, "code": "DYN999"})
    with pytest.raises(RuleError, match=f"policies/index.json says of {lazy.name} what its module does not"):
        _ = changed.check
