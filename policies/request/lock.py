"""Changes of a request that has started."""

from ...api.line import Line
from ...api.schema import load_schema
from ..at import At, Findings
from ..review import UPDATE, Fields, is_line_1_4
from ..rule import DGDR, Stage, differs, rule
from ..sameness import has_same_meaning

_LOCKED = ("Profiling", "Deploying", "Deployed")
_READY = "Ready"  # locked since line 1.5
_OVERRIDE = "runtimeVersionOverride"


@differs("1.2 compares text, so empty blocks and another order of keys count as changes")
@rule("DYN711", where={DGDR: ""}, on=(UPDATE,), stage=Stage.LOCK, ratchets=False)
def dgdr_spec_locked(at: At) -> Findings:
    """The spec of a request changes while the request is in progress.

    Why
        Once profiling has begun, jobs and graphs have been created from the spec, and a change would not reach them. The stored status
        decides, not the status in the update. Since operator 1.5, a request that is Ready is locked too; if it isn't applied
        automatically, `autoApply` and `runtimeVersionOverride` may still change.

    Fix
        Restore the old spec, or create another request.

    Example
         spec: {model: one}
        -status: {phase: Profiling}
        +status: {phase: Ready}
         --- # becomes
         spec: {model: two}  # expect

        +spec: {model: one}
        +status: {phase: Deployed}
        +--- # becomes
        +spec: {model: one, hardware: {}}
    """
    phase = ((at.old or {}).get("status") or {}).get("phase") or ""
    if phase not in _LOCKED and not (phase == _READY and is_line_1_4(at.review)):
        return
    before, now = at.old.get("spec") or {}, at.get("spec") or {}
    if is_line_1_4(at.review) and before.get("autoApply") is False:
        before, now = (_without(spec, phase) for spec in (before, now))
    if not asks_for_the_same(before, now, at.review.line):
        yield at.forbidden("spec", f'must not change while the request is in progress: its phase is "{phase}"')


_JOB = ("overrides", "profilingJob")


def asks_for_the_same(spec: Fields, other: Fields, line: Line) -> bool:
    """Whether two specs ask a line's operator for the same: an empty block is an absent one, but for those of the profiling Job."""
    node = load_schema("DynamoGraphDeploymentRequest", "v1beta1", line)["properties"]["spec"]
    return has_same_meaning(spec, other, node, lambda path: path[:2] != _JOB)


def _without(spec: Fields, phase: str) -> Fields:
    """The spec without what may change while nothing is applied automatically: the override, and when Ready the switch itself."""
    free = {"Profiling": (_OVERRIDE,), _READY: (_OVERRIDE, "autoApply")}.get(phase, ())
    return {name: value for name, value in spec.items() if name not in free}
