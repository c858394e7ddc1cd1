"""What became of the measured oddities of the Go operator's conversion (Q1 to Q30): healed, or kept with the reason; and where a value is
spelled otherwise (P1 to P7), so that its place never changes under its field manager.

docs/differences.md is written from this. What is healed is held by the laws (there and back is the identity, an edit always wins) and by
the worked cases; what is kept is what another version of the object can't know.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NUMBERS: Final = tuple(f"Q{number}" for number in range(1, 31))

HEALED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Q1": "Roles come home as they were written; a remembered sub-role speaks only for the type that it belonged to.",
        "Q2": "A second container called main survives both ways.",
        "Q3": "Mounts keep their order, repeats and cache flags; where Go reorders them, the recorded answer is listed as different.",
        "Q4": "Whole mounts are compared, so that an edit of readOnly or subPath in the other version is not lost.",
        "Q5": "A container that is called like the generated sidecar, beside a declared sidecar, comes home as it was.",
        "Q6": "A service name equal to its key, and the text of quantities and times, come back as they were written.",
        "Q7": "A mode spelled in the other version's case comes home in that case.",
        "Q8": "Probe ports are compared by the visible value, so that an integer beside a text no longer stops the split from returning.",
        "Q9": "Unknown members of the endpoint picker's configuration are kept; nothing is set to null or to an empty text.",
        "Q10": "Integers stay exact; nothing goes through floating point numbers.",
        "Q11": "No empty containers, names, resources or null lists are made up; what an author left out stays out.",
        "Q12": "A remembered value speaks only while it converts to exactly the live one: an edit of the other version always wins.",
        "Q13": "A sidecar that the other version deleted stays deleted, and one whose reference changed stays changed.",
        "Q15": "A standalone component keeps the name that its author set.",
        "Q16": "An annotation that can't be read is set aside (nvidia.com/dynamo-webhooks-aside.*), logged and counted; never an error.",
        "Q17": "Opaque members of the model cache are merged with the typed ones.",
        "Q18": "Fractions and numbers beyond 32 bits stay where they were; the other version does not see a rounded one.",
        "Q19": "An image that doubles as workers' image comes home in one place; removing it in v1beta1 removes it.",
        "Q20": "Empty blocks, an absent autoApply and other targets of optimisation of a request come home.",
        "Q22": "A long remainder is compressed, and left out where even that passes Kubernetes' limit of 256 KiB; such an object is read "
        "with a label, and can't be written in that version.",
        "Q23": "Empty resources, overrides and deployments of a request, and an empty state, come home.",
        "Q24": "Unknown phases, phases outside profiling and empty results of a request come home.",
        "Q27": "Quantities are copied as text; one that can't be read is copied too, and the schema says so.",
        "Q28": "Remembered data is read strictly: member names as they are spelled, one JSON value, nothing behind it.",
    }
)

SPELLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "P1": "The only source of main's environment, where it is one plain secret, is `envFromSecret` in v1alpha1, as people write it.",
        "P2": "The generated sidecar is `frontendSidecar` in v1alpha1, whoever wrote it first.",
        "P3": "A component type that v1beta1's schema refuses is left out there and remembered.",
        "P4": "What comes home by its canonical spelling isn't kept in the annotation as well.",
        "P5": "An entry of env, an amount or a member of a probe that v1beta1 leaves or edits stays in the half where its author had it.",
        "P6": "The name of a request's profiling job stays when v1alpha1 writes that profiling is over.",
        "P7": "A flagged mount is `compilationCache` alone, which a workload mounts by itself; a mount of main in the same place stays in "
        "the annotation. One without a path is no mount either: the API server merges mounts by their paths.",
    }
)

KEPT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Q14": "What was remembered for a component that the other version renamed or deleted goes with it: nobody can tell a rename.",
        "Q21": "Members that only v1alpha1 has can be written by hand into the annotation; they are judged by the same rules on admission, "
        "and a finding points at the annotation.",
        "Q25": "Defaults belong to the schema of the stored version and show in the other one.",
        "Q26": "Repeated environment variables keep their places; an overlay replaces the last repeat, as the kubelet reads them.",
        "Q29": "A template written in v1beta1 leaves a mark in the stored object, by which the Go operator recognises it.",
        "Q30": "A feature that is switched off in v1alpha1 is not visible in v1beta1, so edits there can't reach it.",
    }
)
