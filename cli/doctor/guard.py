"""What must hold for the policy that refuses updates of our definitions after which objects would lose fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamo_webhooks.api.crd_manifest import ALLOW_DATA_LOSS
from dynamo_webhooks.api.kinds import KINDS
from dynamo_webhooks.certs.state import TargetKind
from dynamo_webhooks.cli.doctor import repairs
from dynamo_webhooks.cli.doctor.finding import Finding, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamo_webhooks.cli.doctor.sight import Sight


def guard(sight: Sight) -> Iterator[Finding]:
    """The policy is there and bound, and no definition carries the annotation that gets past it."""
    if not any(kind is TargetKind.CRD for kind, _ in sight.about.targets):
        return  # an installation for one namespace: definitions are somebody else's
    name = sight.policy_name
    for kind, found in (("ValidatingAdmissionPolicy", sight.policy), ("ValidatingAdmissionPolicyBinding", sight.binding)):
        if found is None and kind not in sight.unseen:
            text = "is not there: an update that switches conversion off would be accepted, and objects would lose fields"
            yield warning("guard", f"{kind} {name}", text, repairs.MANIFESTS)
    actions = ((sight.binding or {}).get("spec") or {}).get("validationActions") or []
    if sight.binding is not None and "Deny" not in actions:
        text = f"spec.validationActions must hold Deny, got {', '.join(actions) or 'nothing'}: nothing is refused"
        yield warning("guard", f"ValidatingAdmissionPolicyBinding {name}", text, repairs.MANIFESTS)
    for each in KINDS:
        notes = ((sight.crds[each.plural] or {}).get("metadata") or {}).get("annotations") or {}
        if notes.get(ALLOW_DATA_LOSS) == "true":
            text = f"carries the annotation {ALLOW_DATA_LOSS}: updates that lose data are accepted until it is taken back"
            repair = f"kubectl annotate crd {each.crd_name} --overwrite {ALLOW_DATA_LOSS}=false"
            yield warning("guard", f"CustomResourceDefinition {each.crd_name}", text, repair)
