"""Measured oddities of the Go operator's conversion (C-01 to C-30), fixed or kept with the reason, and values that are spelled otherwise
(S-1 to S-7) so that a field's place never changes under its field manager.

docs/differences.md is generated from this. The laws (the round trip is the identity, an edit always wins) and the worked examples test what
is fixed; what is kept is what another version of the object can't know.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NUMBERS: Final = tuple(f"C-{number:02}" for number in range(1, 31))

HEALED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "C-01": "Roles round-trip unchanged. A saved sub-role is restored only if the component type is unchanged.",
        "C-02": "A second container named main survives both ways.",
        "C-03": "Mounts keep their order, repeats and cache flags; where Go reorders them, the recorded answer is listed as different.",
        "C-04": "Whole mounts are compared, so that an edit of readOnly or subPath in the other version is not lost.",
        "C-05": "A container with the generated sidecar's name, beside a declared sidecar, round-trips unchanged.",
        "C-06": "A service name equal to its key, and the text of quantities and times, come back as they were written.",
        "C-07": "A mode written in the other version's case keeps that case in a round trip.",
        "C-08": "Probe ports are compared by the visible value, so an integer beside a string no longer stops the split.",
        "C-09": "Unknown members of the endpoint picker's configuration are kept; nothing is set to null or to an empty string.",
        "C-10": "Integers stay exact; nothing goes through floating point numbers.",
        "C-11": "No empty containers, names, resources or null lists are added; what an author left out stays out.",
        "C-12": "A saved value is restored only while it converts to exactly the live one: an edit in the other version always wins.",
        "C-13": "A sidecar that the other version deleted stays deleted, and one whose reference changed stays changed.",
        "C-15": "A standalone component keeps the name that its author set.",
        "C-16": "An annotation that can't be read is set aside (nvidia.com/dynamo-webhooks-aside.*), logged and counted; never an error.",
        "C-17": "Opaque members of the model cache are merged with the typed ones.",
        "C-18": "Fractions and numbers beyond 32 bits stay where they were; the other version does not see a rounded one.",
        "C-19": "An image that is also the workers' image returns to one place; removing it in v1beta1 removes it.",
        "C-20": "Empty blocks, an absent autoApply and other optimisation targets of a request round-trip unchanged.",
        "C-22": "A long remainder is compressed, and left out where even that passes Kubernetes' limit of 256 KiB; such an object is read "
        "with a label, and can't be written in that version.",
        "C-23": "Empty resources, overrides and deployments of a request, and an empty state, round-trip unchanged.",
        "C-24": "Unknown phases, phases outside profiling and empty results of a request round-trip unchanged.",
        "C-27": "Quantities are copied as strings, invalid ones too; the schema rejects those.",
        "C-28": "Saved data is read strictly: exact member names, one JSON value, nothing after it.",
    }
)

SPELLED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "S-1": "A single plain secret as main's only environment source is `envFromSecret` in v1alpha1, as people write it.",
        "S-2": "The generated sidecar is `frontendSidecar` in v1alpha1, whoever wrote it first.",
        "S-3": "A component type that v1beta1's schema refuses is left out there and saved.",
        "S-4": "What round-trips in its canonical spelling isn't saved in the annotation as well.",
        "S-5": "An entry of env, an amount or a member of a probe that v1beta1 leaves or edits stays where its author had it.",
        "S-6": "The name of a request's profiling job stays when v1alpha1 writes that profiling is over.",
        "S-7": "A flagged mount is `compilationCache` only, which rendering mounts; a mount of main at the same path stays in "
        "the annotation. One without a path makes no mount: the API server merges mounts by path.",
    }
)

KEPT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "C-14": "What was saved for a component that the other version renamed or deleted is dropped: a rename can't be recognised.",
        "C-21": "Members that only v1alpha1 has can be written by hand into the annotation; the same rules judge them on admission, "
        "and a finding points at the annotation.",
        "C-25": "Defaults belong to the schema of the stored version and show in the other one.",
        "C-26": "Repeated environment variables keep their places; an overlay replaces the last repeat, as the kubelet reads them.",
        "C-29": "A template written in v1beta1 leaves a mark in the stored object, by which the Go operator recognises it.",
        "C-30": "A feature that is switched off in v1alpha1 is not visible in v1beta1, so edits there can't reach it.",
    }
)
