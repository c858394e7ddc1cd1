"""What became of the measured behaviour of the Go operator 1.2 that no rule answers: kept with a reason, or changed outside the rules.

Quirks (Q) are oddities, gaps (G) are objects that it admits and that fail later. A number that a rule's `Difference` names is decided
there and not here; docs/differences.md is written from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

QUIRKS: Final = tuple(f"Q-{number:02}" for number in range(1, 53))
GAPS: Final = tuple(f"G-{number:02}" for number in range(1, 28))

# Differences of the engine as a whole, which no single rule could declare.
ENGINE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "all-findings": "Every rule is asked and every finding is answered, in an order that never changes; 1.2 stopped at the first.",
        "ratchet": "An update is not refused for what the stored object had already: same rule, same place, same value. "
        "Immutability, ownership and locks are excepted. Labels and finalizers of an object that breaks a newer rule stay editable.",
        "components-of-graphs": "A component that the operator makes of a graph is not held to rules that 1.2 doesn't have, or doesn't "
        "ask of a component: its graph was, unless it is older than they are, and then it must go on getting its components. "
        "What may not change once it runs is held as everywhere.",
        "lease-defaults": "A namespace that another operator has leased gets no defaults from this one, as it gets no verdicts; "
        "otherwise graphs would be stamped with the wrong operator's version.",
        "typed-causes": "Denials are 422 Invalid with one typed cause for each field, so that kubectl and client libraries can show them.",
        "warnings-always": "Warnings come with denials too: they are as true then.",
        "minimal-patch": "A patch holds what the defaults of this catalogue set and nothing else; "
        "1.2 sent whatever reading and writing the object had changed.",
        "envelope": "What can't be answered by a review is an HTTP 4xx with one sentence; 1.2 answered 200 with a review that had no uid.",
        "unknown-facts": "A rule that needs a fact which nobody supplied says so and refuses in the server, where it would have fired; "
        "offline it is a note.",
    }
)

# Different, but not by a rule.
CHANGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Q-01": "Engine difference `all-findings`: services are visited all, and findings are sorted.",
        "Q-02": "Findings name fields as the author's version does; a field that it does not have is named with the version that has it.",
        "Q-03": "Engine difference `typed-causes`; the metric of denials counts rule names.",
        "Q-19": "Engine difference `ratchet`: a graph with an endpoint picker stays editable when the InferencePool API vanishes.",
        "Q-20": "Engine difference `ratchet`: closing the gate of GPU memory service with snapshots freezes no existing object.",
        "Q-29": "Engine difference `warnings-always`.",
        "Q-33": "Engine difference `minimal-patch`: a required field that is missing stays missing, and the schema says so.",
        "Q-35": "An amount of GPUs that can't be read is reported where it stands; a missing one at the limit, where one would write it.",
        "Q-37": "Engine difference `lease-defaults`. A lease that was only acquired so far counts from its acquire time, or its creation.",
        "Q-38": "The manifests of one namespace select the namespace that is managed, not the one of the release.",
        "Q-39": "The CRDs carry their conversion stanza in every way of installing them.",
        "Q-41": "Engine difference `minimal-patch`: a missing required field is refused on creation as it is on update.",
        "Q-42": "Engine difference `minimal-patch`: a pod template without containers is left without.",
        "Q-43": "Engine difference `minimal-patch`: an omitted plugin weight is left out.",
        "Q-44": "Engine difference `minimal-patch`: a v1alpha1 mode in a v1beta1 object reaches the schema as it was written.",
        "Q-45": "Engine difference `minimal-patch`: a name that is still to be generated is left absent, which the schema admits; "
        "only an explicit empty name is refused.",
        "Q-46": "Engine difference `minimal-patch`: quantities stay as written, so an integer size is refused on creation as well.",
        "Q-47": "Wrong types are answered 400 with the field, in both versions. "
        "Two components of one name are refused with the field of the second, not answered with a fault.",
        "Q-48": "An unreadable annotation of an earlier conversion is kept aside and logged, neither an error nor dropped.",
        "Q-50": "The rule grove-name-length speaks of a shortened name only where the name was shortened.",
        "Q-51": "Engine difference `envelope`.",
    }
)

# As in 1.2, on purpose.
KEPT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Q-07": "A look-up that fails refuses: a constraint that nobody could check would fail later and farther from its author.",
        "Q-11": "The bounds belong to the published schemas of the two versions; narrowing one would make stored objects invalid.",
        "Q-14": "Limits win over requests in Kubernetes too; an explicit limit of 0 is what the author wrote.",
        "Q-15": "No shadows (0) meant unset before the schema had a minimum; stored objects may still say it.",
        "Q-18": "An endpoint picker that is scaled to zero answers nothing, so its graph would be down without anybody having said so.",
        "Q-21": "Paths are where the field is: a component has a checkpoint block, a checkpoint has none.",
        "Q-22": "Only failover has a use as a block that is prepared and switched off; the other checks are on names that can't be right.",
        "Q-23": "Case of the values follows what the operator reads; annotations of pods belong to whoever reads them, not to the graph.",
        "Q-25": "Versions were always read loosely; a stricter rule would refuse graphs whose annotation older operators accepted.",
        "Q-28": "One planner may serve several namespaces; who may create its account or act as it is for RBAC to decide.",
        "Q-31": "What only v1alpha1 can say lies in annotations, and the operator works from the spec alone; metadata stays editable.",
        "Q-36": "Starting or cancelling a restart is what must wait for the rollout; the strategy counts only from the next start on.",
        "Q-49": "It is the published meaning of the field in each version; conversion translates between the two.",
        "Q-52": "What such an annotation brings in is judged like anything else, so it gives nobody more than v1alpha1 does.",
        "G-03": "The rules read v1alpha1, which has no such reference; reconciliation reports it.",
        "G-04": "Kubernetes lets templates leave images out for another webhook to set.",
        "G-09": "Claims may be made by others after the graph, and the API server itself refuses duplicate mount paths in pods.",
        "G-15": "Names of objects that may come later are no error yet; manifests are often applied in any order.",
        "G-19": "The published schemas don't require a spec. A graph without one is refused for its missing services; the others ask for "
        "nothing until they get one.",
        "G-20": "Scaling adapters have no admission webhook in 1.2, and are often created before their graph.",
        "G-22": "A checkpoint that is awaited may appear at any time; the identity of one is checked where it is computed.",
        "G-23": "What a command line starts can't be told from its text.",
        "G-24": "A policy without effect harms nobody, and labels of nodes come and go.",
    }
)
