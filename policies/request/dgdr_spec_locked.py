"""Changes of a request that has started."""

from ..at import At
from ..domain import is_line_1_4
from ..review import UPDATE, Fields
from ..rule import DGDR, Difference, Hits, Stage, rule
from ._sameness import same_meaning

_LOCKED = ("Profiling", "Deploying", "Deployed")
_READY = "Ready"  # locked since line 1.5
_OVERRIDE = "runtimeVersionOverride"


@rule(
    "DYN711",
    where={DGDR: ""},
    on=(UPDATE,),
    stage=Stage.LOCK,
    ratchets=False,
    differs=Difference(("Q-34",), "1.2 compares text, so empty blocks and another order of keys count as changes"),
)
def dgdr_spec_locked(at: At) -> Hits:
    """The spec of a request changes while the request is worked on.

    Why
        From profiling on, jobs and graphs exist that were made from the spec; a change would reach none of them.
        The stored status decides, not one that comes with the update. Since line 1.5 of the operator a request that is Ready is locked too;
        where it isn't applied automatically, its `autoApply` and its `runtimeVersionOverride` may still change.

    Fix
        Put the old spec back, or create another request.

    Example
        spec: {model: one}
    bad status: {phase: Profiling}
    ok  status: {phase: Ready}
        --- # becomes
        spec: {model: two}  # expect

    ok  spec: {model: one}
    ok  status: {phase: Deployed}
    ok  --- # becomes
    ok  spec: {model: one, hardware: {}}
    """
    phase = ((at.old or {}).get("status") or {}).get("phase") or ""
    if phase not in _LOCKED and not (phase == _READY and is_line_1_4(at.review)):
        return
    before, now = at.old.get("spec") or {}, at.get("spec") or {}
    if is_line_1_4(at.review) and before.get("autoApply") is False:
        before, now = (_without(spec, phase) for spec in (before, now))
    if not same_meaning(before, now, at.review.line):
        yield at.forbidden("spec", f'must not change while the request is worked on: its phase is "{phase}"')


def _without(spec: Fields, phase: str) -> Fields:
    """The spec without what may change while nothing is applied automatically: the override, and when Ready the switch itself."""
    free = {"Profiling": (_OVERRIDE,), _READY: (_OVERRIDE, "autoApply")}.get(phase, ())
    return {name: value for name, value in spec.items() if name not in free}
