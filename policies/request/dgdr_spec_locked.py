"""DYN711: a request that changes while it is worked on."""

from dynamo_webhooks.policies.at import At
from dynamo_webhooks.policies.domain import on_1_5
from dynamo_webhooks.policies.finding import Finding
from dynamo_webhooks.policies.order import Stage
from dynamo_webhooks.policies.request._sameness import same_meaning, same_text
from dynamo_webhooks.policies.review import UPDATE, Fields
from dynamo_webhooks.policies.rule import DGDR, Hits, rule

_LOCKED = ("Profiling", "Deploying", "Deployed")
_READY = "Ready"  # locked since line 1.5
_OVERRIDE = "runtimeVersionOverride"


@rule("DYN711", where={DGDR: ""}, on=(UPDATE,), stage=Stage.LOCK, ratchets=False)
def dgdr_spec_locked(at: At) -> Hits:
    """The spec of a request changes while the request is worked on.

    Why
        From profiling on, jobs and graphs exist that were made from the spec; a change would reach none of them.
        The stored status decides, not one that comes with the update. On line 1.5 of the operator a request that is Ready is locked too;
        where it isn't applied automatically, its `autoApply` and its `runtimeVersionOverride` may still change.

    Fix
        Put the old spec back, or create another request.

    Bad
        ```yaml
        spec: {model: one}
        status: {phase: Profiling}
        --- # becomes
        spec: {model: two}  # expect
        ```

    Good
        ```yaml
        spec: {model: one}
        status: {phase: Ready}
        --- # becomes
        spec: {model: two}
        ```
        Writing an empty block down changes nothing.
        ```yaml
        spec: {model: one}
        status: {phase: Deployed}
        --- # becomes
        spec: {model: one, hardware: {}}
        ```
    """
    phase = _phase(at)
    if phase not in _LOCKED and not (phase == _READY and on_1_5(at.review)):
        return
    before, now = at.old.get("spec") or {}, at.get("spec") or {}
    if on_1_5(at.review) and before.get("autoApply") is False:
        before, now = (_without(spec, phase) for spec in (before, now))
    if not same_meaning(before, now, at.review.line):
        yield _finding(at, phase)


def _without(spec: Fields, phase: str) -> Fields:
    """The spec without what may change while nothing is applied automatically: the override, and when Ready the switch itself."""
    free = {"Profiling": (_OVERRIDE,), _READY: (_OVERRIDE, "autoApply")}.get(phase, ())
    return {name: value for name, value in spec.items() if name not in free}


@dgdr_spec_locked.in_1_2("Q-34", because="1.2 compares text, so empty blocks and another order of keys count as changes")
def dgdr_spec_locked_in_1_2(at: At) -> Hits:
    """Specs are compared as they would be written."""
    phase = _phase(at)
    if phase in _LOCKED and not same_text(at.old.get("spec") or {}, at.get("spec") or {}, at.review.line):
        yield _finding(at, phase)


def _phase(at: At) -> str:
    return ((at.old or {}).get("status") or {}).get("phase") or ""


def _finding(at: At, phase: str) -> Finding:
    return at.forbidden("spec", f'must not change while the request is worked on: its phase is "{phase}"')
