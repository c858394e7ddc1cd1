"""Odd conversions of the Go operator (C-01 to C-30), fixed or kept with the reason, and values that are written differently (S-1 to S-8).

docs/differences.md is generated from this, without the keys. The laws and the worked examples test the fixed ones.
"""

from collections.abc import Mapping
from typing import Final

HEALED: Final[Mapping[str, str]] = {
    "C-01": "Roles round-trip unchanged. A saved sub-role is restored only if the component type is unchanged.",
    "C-02": "A second container named main round-trips unchanged.",
    "C-03": "Mounts keep their order, repeats and cache flags.",
    "C-04": "Edits of a mount's readOnly or subPath in the other version are kept.",
    "C-05": "A container with the generated sidecar's name, beside a declared sidecar, round-trips unchanged.",
    "C-06": "A service name equal to its key, and the text of quantities and times, round-trip unchanged.",
    "C-07": "A mode in the other version's case round-trips unchanged.",
    "C-08": "Probe ports that differ only in type (integer or string) are equal.",
    "C-09": "Unknown members of the endpoint picker's configuration are kept; none becomes null or empty.",
    "C-10": "Integers stay exact.",
    "C-11": "No empty containers, names, resources or null lists are added.",
    "C-12": "A saved value is restored only if it converts to exactly the live one: an edit in the other version wins.",
    "C-13": "A sidecar that the other version deleted or changed stays so.",
    "C-15": "A standalone component keeps its name.",
    "C-16": "A damaged annotation is set aside (nvidia.com/dynamo-webhooks-aside.*), logged and counted; never an error.",
    "C-17": "Untyped members of the model cache are merged with the typed ones.",
    "C-18": "Fractions and numbers beyond 32 bits are saved, not rounded.",
    "C-19": "An image that is also the workers' image is one field again; removing it in v1beta1 removes it.",
    "C-20": "Empty blocks, an absent autoApply and other optimisation targets of a request round-trip unchanged.",
    "C-22": "A long remainder is compressed, and left out if it still exceeds Kubernetes' 256 KiB; such an object is read with a "
    "label, and can't be written in that version.",
    "C-23": "Empty resources, overrides and deployments of a request, and an empty state, round-trip unchanged.",
    "C-24": "Unknown phases, phases outside profiling and empty results of a request round-trip unchanged.",
    "C-27": "Quantities are copied as strings; the schema rejects invalid ones.",
    "C-28": "Saved data is read strictly: exact member names and one JSON value.",
}

SPELLED: Final[Mapping[str, str]] = {
    "S-1": "With operator 1.2, a single plain secret as main's only environment source is `envFromSecret` in v1alpha1.",
    "S-2": "With operator 1.2, the generated sidecar is always `frontendSidecar` in v1alpha1.",
    "S-3": "With operator 1.2, a component type that v1beta1's schema refuses is left out there and saved.",
    "S-4": "Values that round-trip in canonical form aren't saved in the annotation.",
    "S-5": "An env entry, amount or probe member that v1beta1 keeps or edits stays in its original place.",
    "S-6": "The name of a request's profiling job stays when v1alpha1 ends the phase.",
    "S-7": "A flagged mount becomes only `compilationCache`, and the reconciler mounts it; a mount of main at the same path stays in "
    "the annotation. Without a path, no mount is created, because the API server merges mounts by path.",
    "S-8": "Since operator 1.5, a stored checkpoint that is disabled has `enabled: false` in v1alpha1: the API server adds that default to "
    "each write, which would otherwise be a new generation. In v1beta1, a block without `enabled`, as clients of operator 1.2 write it, is "
    "enabled.",
}

KEPT: Final[Mapping[str, str]] = {
    "C-14": "Values saved for a component that the other version renamed or deleted are dropped: a rename can't be recognised.",
    "C-21": "Users can write members of v1alpha1 into the annotation; rules check them once they are written in v1alpha1.",
    "C-25": "Defaults of the stored version's schema appear in the other one.",
    "C-26": "Repeated environment variables keep their places; an overlay replaces the last one, as the kubelet does.",
    "C-29": "A template written in v1beta1 marks the stored object for the Go operator.",
    "C-30": "A feature disabled in v1alpha1 is invisible in v1beta1, so it can't be edited there.",
}
