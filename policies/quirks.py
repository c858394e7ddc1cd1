"""Measured behaviour of the Go operator 1.2 that no rule changes: kept with a reason, or changed outside the rules.

Quirks (Q) are odd verdicts, gaps (G) are objects that it admits and that fail later. Numbers that a rule's `Difference` names aren't here;
docs/differences.md is generated from both.
"""

from collections.abc import Mapping
from typing import Final

# Differences of the engine, which no single rule could declare.
ENGINE: Final[Mapping[str, str]] = {
    "all-findings": "Every rule runs and all findings are reported, in a fixed order; 1.2 stops at the first.",
    "ratchet": "An update isn't refused for findings of the stored object with the same rule, place and value, except immutability, "
    "ownership and locks. So labels and finalizers of older objects stay editable.",
    "components-of-graphs": "A component that the operator makes of a graph is judged only by rules that are the same in 1.2 and by "
    "immutability: its graph was judged, or is older than the rules.",
    "lease-defaults": "A namespace that another operator has leased gets no defaults, as it gets no verdicts; graphs would be stamped "
    "with the wrong version.",
    "typed-causes": "Denials are 422 Invalid with one typed cause a field, which kubectl and client libraries show.",
    "warnings-always": "Denials carry warnings too.",
    "minimal-patch": "A patch contains only defaults; 1.2 also sends what its decoding and encoding changes.",
    "envelope": "A request without a valid review gets HTTP 4xx with one sentence; 1.2 answers 200 with a review without uid.",
    "unknown-facts": "Where a rule would fire but its fact is unknown, the server refuses and `check` prints a note.",
}

# Different, without a rule.
CHANGED: Final[Mapping[str, str]] = {
    "Q-01": "Engine difference `all-findings`.",
    "Q-02": "Findings name fields of the submitted version; other fields are named with the version that has them.",
    "Q-03": "Engine difference `typed-causes`; the metric of denials is labelled with the rule.",
    "Q-19": "Engine difference `ratchet`: a graph with an endpoint picker stays editable if the InferencePool API disappears.",
    "Q-20": "Engine difference `ratchet`: closing the gate of GPU memory service with snapshots leaves existing objects editable.",
    "Q-29": "Engine difference `warnings-always`.",
    "Q-33": "Engine difference `minimal-patch`: the schema reports missing required fields.",
    "Q-35": "An invalid amount of GPUs is reported at its field, a missing one at the limit.",
    "Q-37": "Engine difference `lease-defaults`. A Lease without renewal counts from its acquire time, or its creation.",
    "Q-38": "The manifests for one namespace select the managed namespace, not the release's.",
    "Q-39": "The CRDs have their conversion stanza in every installation.",
    "Q-41": "Engine difference `minimal-patch`: a missing required field is refused on creation as on update.",
    "Q-42": "Engine difference `minimal-patch`: a pod template without containers stays so.",
    "Q-43": "Engine difference `minimal-patch`: an omitted plugin weight stays omitted.",
    "Q-44": "Engine difference `minimal-patch`: a v1alpha1 mode in a v1beta1 object reaches the schema unchanged.",
    "Q-45": "Engine difference `minimal-patch`: a name to be generated stays absent, which the schema allows; "
    "only an explicit empty name is refused.",
    "Q-46": "Engine difference `minimal-patch`: quantities stay as written, so an integer size is refused on creation too.",
    "Q-47": "Wrong types get 400 with the field, in both versions. "
    "Two components of one name are refused at the second one's field instead of failing.",
    "Q-48": "A damaged conversion annotation is set aside and logged, neither an error nor dropped.",
    "Q-50": "The rule grove-name-length mentions a shortened name only if it was shortened.",
    "Q-51": "Engine difference `envelope`.",
}

# Kept on purpose.
KEPT: Final[Mapping[str, str]] = {
    "Q-07": "A failed look-up refuses: an unchecked constraint would fail later.",
    "Q-11": "The published schemas have these bounds; narrowing one would make stored objects invalid.",
    "Q-14": "Limits win over requests in Kubernetes too; an explicit limit of 0 is taken as written.",
    "Q-15": "No shadows (0) meant unset before the schema had a minimum; stored objects may have it.",
    "Q-18": "With its endpoint picker scaled to zero, a graph would silently be down.",
    "Q-21": "Paths name the actual field: a component has a checkpoint block, a checkpoint has none.",
    "Q-22": "Only failover may be prepared while disabled; the other checks concern names that can't be valid.",
    "Q-23": "Case follows what the operator reads; pod annotations are for their readers, not for the graph.",
    "Q-25": "A stricter reading of versions would refuse graphs whose annotation older operators accepted.",
    "Q-28": "One planner may serve several namespaces; RBAC decides who may use its account.",
    "Q-31": "Values of v1alpha1 only are in annotations, which stay editable; the operator reads only the spec.",
    "Q-36": "Only starting or cancelling a restart must wait for the rollout; a strategy applies from the next start.",
    "Q-49": "Each version publishes its own meaning; conversion translates.",
    "Q-52": "Rules about what v1alpha1 alone can say judge what is written there, not what such an annotation holds.",
    "G-03": "From line 1.5 on frontend-sidecar-unknown refuses it; on line 1.2 reconciliation reports it.",
    "G-04": "Another webhook may set images.",
    "G-09": "Claims may be created after the graph, and the API server refuses duplicate mount paths in pods.",
    "G-15": "The named objects may be created later: manifests are applied in any order.",
    "G-19": "The published schemas don't require a spec. A graph without one is refused for its missing services; other "
    "objects without one do nothing.",
    "G-20": "Scaling adapters have no admission webhook in 1.2, and may be created before their graph.",
    "G-22": "The checkpoint may appear later; its identity is checked where it is computed.",
    "G-23": "A command's effect can't be derived from its text.",
    "G-24": "A policy without effect is harmless, and node labels change.",
}
