"""Measured behaviour of the Go operator 1.2 that no rule changes: kept with a reason, or changed outside the rules.

Keys name what was measured: Q an odd decision, G an object that it admits and that fails later. Keys that a rule's `Difference` names
aren't here; docs/differences.md is generated from both, without keys.
"""

from collections.abc import Mapping
from typing import Final

# Differences of the engine, which no single rule could declare.
ENGINE: Final[Mapping[str, str]] = {
    "all-findings": "Every rule runs and all findings are reported, in a fixed order; 1.2 stops at the first.",
    "ratchet": "An update isn't refused for findings of the stored object with the same rule, place and value, except immutability, "
    "ownership and locks. So labels and finalizers of older objects stay editable. As upstream, some rules of operator 1.5 and later "
    "refuse any update, of labels too, until the object is mended: checkpoint-use-of-graphs, checkpoint-use-of-workers, "
    "dgdr-runtime-version-required, epp-runtime-config-forbidden, epp-runtime-config-required, epp-runtime-version-required, "
    "ingress-lpx-gate, lpx-gate, lpx-role-template-required, multinode-type-unsupported, role-template-runtime, roles-incomplete, "
    "roles-name-unknown, roles-need-multinode, roles-replicas-mismatch, runtime-sidecar-alone, runtime-sidecar-image, "
    "runtime-sidecar-of-workers, runtime-sidecar-restarts. So does dgd-services-required, since such a graph has lost its components.",
    "components-of-graphs": "For a component that the operator creates from a graph, only the rules that 1.2 has in the same form and "
    "those on immutability are evaluated: its graph was validated, or is older than the rules.",
    "lease-defaults": "In a namespace that another operator claims with a Lease, neither rules nor defaults apply; 1.2 still sets "
    "defaults, and "
    "so the wrong origin version.",
    "typed-causes": "Denials are 422 Invalid with one typed cause for each field, which kubectl and client libraries show.",
    "warnings-always": "Denials carry warnings too.",
    "minimal-patch": "A patch contains only defaults; the patches of 1.2 also contain changes by its decoding and encoding.",
    "envelope": "A request without a valid review gets HTTP 4xx with one sentence; 1.2 answers 200 with a review without uid.",
    "unknown-facts": "If a rule needs an unknown fact to decide, the server refuses the object, and `check` prints a note.",
}

# Different, without a rule.
CHANGED: Final[Mapping[str, str]] = {
    "Q-01": "Engine difference `all-findings`.",
    "Q-02": "Findings name fields of the submitted version; other fields are named with the version that has them.",
    "Q-03": "Engine difference `typed-causes`; the metric of denials has the rule as a label.",
    "Q-19": "Engine difference `ratchet`: a graph with an endpoint picker stays editable if the InferencePool API disappears.",
    "Q-20": "Engine difference `ratchet`: if the operator stops allowing the GPU memory service with snapshots, existing objects stay "
    "editable.",
    "Q-29": "Engine difference `warnings-always`.",
    "Q-33": "Engine difference `minimal-patch`: the schema reports missing required fields.",
    "Q-35": "An invalid amount of GPUs is reported at its field, a missing one at the limit; 1.2 always names the limit.",
    "Q-37": "Engine difference `lease-defaults`. A Lease that was never renewed is valid from its acquire time or its creation; for "
    "1.2 it has expired.",
    "Q-38": "The webhooks of an installation for one namespace select the managed namespace, not that of the Helm release.",
    "Q-39": "The CRDs have conversion configured in every installation, also with external certificates.",
    "Q-41": "Engine difference `minimal-patch`: a missing required field is refused on creation as on update.",
    "Q-42": "Engine difference `minimal-patch`: a pod template without containers stays so.",
    "Q-43": "Engine difference `minimal-patch`: an omitted plugin weight stays omitted.",
    "Q-44": "Engine difference `minimal-patch`: a v1alpha1 mode in a v1beta1 object reaches the schema unchanged.",
    "Q-45": "Engine difference `minimal-patch`: with `generateName`, a component's name stays absent, which the schema allows; "
    "only an explicit empty name is refused.",
    "Q-46": "Engine difference `minimal-patch`: quantities stay as written, so an integer size is refused on creation too.",
    "Q-47": "Values of a wrong type get 400 with the field, in both versions. "
    "A duplicate component name is refused at the second component instead of failing the conversion.",
    "Q-48": "A damaged conversion annotation is moved to another annotation and logged; 1.2 fails or drops it.",
    "Q-50": "The message of `grove-name-length` mentions a shortened name only if it was shortened.",
    "Q-51": "Engine difference `envelope`.",
}

# Kept on purpose.
KEPT: Final[Mapping[str, str]] = {
    "Q-07": "If a ClusterTopology can't be read, the graph is refused, because an unchecked constraint would fail later.",
    "Q-11": "Only v1beta1 limits `numShadows` to exactly 1: narrowing a published schema would make stored objects invalid.",
    "Q-14": "A GPU limit of 0 overrides a request: limits win over requests in Kubernetes too.",
    "Q-15": "The value `numShadows: 0` counts as unset for intra-pod failover, because objects from before the schema's minimum may "
    "have it.",
    "Q-18": "An endpoint picker with 0 replicas is refused, because the graph would silently be unreachable.",
    "Q-21": "The same finding has another path in a component than in a DynamoCheckpoint, because only a component has a checkpoint block.",
    "Q-22": "Rules skip disabled failover, but check names in a disabled checkpoint or GPU memory service, because they can never be "
    "valid.",
    "Q-23": "The vLLM executor is case-insensitive and the discovery mode isn't, as the operator reads them; pod annotations aren't "
    "checked.",
    "Q-25": "Versions such as `1` and `v1.2` are valid in annotations, because older operators accepted them.",
    "Q-28": "The planner's service account of any namespace may change replicas: one planner may serve several, and RBAC decides who "
    "may use it.",
    "Q-31": "While a request is locked, fields that only v1alpha1 has stay editable: profiling has read them already, and those that "
    "are read "
    "later only name and label the graph.",
    "Q-36": "During a roll-out, a restart can't be started or cancelled, but its strategy may change: it applies from the next restart.",
    "Q-49": "The block `scalingAdapter: {}` is disabled in v1alpha1 and enabled in v1beta1, as published; conversion translates.",
    "Q-52": "Clients of v1beta1 may write v1alpha1's fields in the conversion annotation: the values are validated by the rules and the "
    "schema of v1alpha1, and then used.",
    "G-03": "A `frontendSidecar` without its container is refused by `frontend-sidecar-unknown` since 1.5; for 1.2 the reconciler "
    "reports it.",
    "G-04": "An additional container without an image is accepted for 1.2, because another webhook may set it.",
    "G-09": "A mount may name a claim that doesn't exist, because it may be created after the graph; `repeated-entry` refuses "
    "duplicate paths.",
    "G-15": "Priority classes, checkpoints, ConfigMaps and queues needn't exist: manifests are applied in any order.",
    "G-19": "Objects without a spec are accepted, as the published schemas allow, but a graph is refused because it has no components; "
    "others do nothing.",
    "G-20": "Scaling adapters aren't validated, and may be created before their graph.",
    "G-22": "A checkpoint in mode Manual needn't exist yet; its identity is checked when it is computed.",
    "G-23": "The field `backendFramework` may contradict the container's command, whose engine can't be derived reliably from its text.",
    "G-24": "A KV transfer policy may name a label that no node has, because node labels change.",
}
