"""Every recorded case of the controllers is compared, and few differ that the specification doesn't name."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.golden import test_checkpoints, test_models, test_rendered_cases, test_requests
from tests.golden.corpus import lines
from tests.golden.differences import LISTED, MOST, OTHERS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# section 8, point 7 of the specification, which adds discovery's cases of R16
NAMED: Final = re.compile(
    r"ms-lora-(unready|twoslices|dual|multiaddr|nosource)|ms-base|ms-del-name-(.*\.\..*|\.|.*//.*|/.*|.*/)"
    r"|cs-(duplicate-ready|failed-done|nojob|three|pending-jobexists)"
    r"|rs-profiling-(nojob|edited|phase-Bogus|complete-(beta|brace|nocm|two))|rs-pending-createfails"
    r"|rs-deploying-(foreign|noname-foreign)|rs-deployed-edited|rs-ready-autoapply-turned-on|rs-failed-edited"
    r"|pj-026|re-daemonset-(none|badvol|badname|rootpath)"
    r"|ps-(broken|emptyauth|dockercfg|hub\d*|subpath|wildcard|init)"
)
COMPARED: Final[Mapping[str, Collection[str]]] = {
    "checkpoint-job": test_checkpoints.RECORDED_JOBS,
    "checkpoint-step": test_checkpoints.STEPS,
    "profiling-job": test_requests.CASES,
    "request-step": test_requests.CASES,
    "model-step": test_models.CASES,
    "restore": test_checkpoints.RESTORES,
    "pull-secrets": test_rendered_cases.CASES,
}
RENDERED: Final = ("checkpoint-job", "profiling-job", "restore", "pull-secrets")
RECORDED: Final = {
    "checkpoint-job": 59,
    "checkpoint-step": 27,
    "profiling-job": 73,
    "request-step": 46,
    "model-step": 36,
    "restore": 23,
    "pull-secrets": 17,
}


def test_every_recorded_case_is_compared() -> None:
    cases = [*lines("controllers.ndjson.gz")]
    assert Counter(case["kind"] for case in cases) == RECORDED
    assert [case["id"] for case in cases if case["id"] not in COMPARED[case["kind"]]] == []
    assert [case["id"] for case in cases if case["kind"] in RENDERED and case["id"] not in test_rendered_cases.CASES] == []


def test_few_differ_that_the_specification_does_not_name() -> None:
    recorded = {case["id"]: case for case in lines("controllers.ndjson.gz")}
    assert LISTED.keys() | OTHERS.keys() <= recorded.keys()
    discovered = {name for name, case in recorded.items() if any(one["kind"] == "Node" for one in case.get("others", ()))}
    named = {name for name, why in LISTED.items() if NAMED.fullmatch(name) or (why.startswith("R16") and name in discovered)}
    assert LISTED.keys() == named
    assert not [name for name in OTHERS if NAMED.fullmatch(name)]
    assert len(OTHERS) <= MOST
