"""Recorded cases of controllers in which ours differ on purpose, each with its reason.

`LISTED` and `DISCOVERED` are those that whoever recorded them said ours must differ in, `EFFECTIVE` those that we decided later, and
`OTHERS` the rest.
"""

from collections.abc import Mapping
from typing import Final

MAX_OTHERS: Final = 10  # others that are permitted, over all kinds together
_ONCE: Final = "a pod is called once and counted once, in however many slices and address families it is"
_NAME: Final = "dot segments and empty segments are refused as names, so that nothing was loaded and nothing is unloaded"
_UNKNOWN: Final = "a product that the schema has no word for is not written into the spec; validation names it, and the field to set"
_BOARD: Final = "HBM3 is on boards alone, so that the node has h100_sxm"
_ENDED: Final = "Profiling is True once the Job has completed, whatever becomes of its result, and profilingPhase is kept"
_HUB: Final = "all names of Docker Hub, and images without a host, are one registry"
_BROKEN: Final = "a Secret that can't be read has no effect on others"
_NO_NAME: Final = "such a version makes no name of a Job, which an API server refuses"

LISTED: Final[Mapping[str, str]] = {
    "ms-lora-unready": "a pod that isn't ready is not called",
    "ms-lora-twoslices": _ONCE,
    "ms-lora-dual": _ONCE,
    "ms-del-name-a/../b": _NAME,
    "ms-del-name-.": _NAME,
    "ms-del-name-a//b": _NAME,
    "ms-del-name-trail/": _NAME,
    "cs-pending-jobexists": "a Job that the checkpoint doesn't own is left alone, and its annotation not believed",
    "cs-failed-done": "a snapshot that the agent calls complete is ready although its worker ended in an error",
    "cs-three": "of several of one identity the oldest counts, however many there are",
    "rs-pending-createfails": "an error that passes ends nothing",
    "rs-profiling-nojob": "a Job that is gone is made once more",
    "rs-profiling-complete-nocm": _ENDED,
    "rs-profiling-complete-brace": "text that is no YAML is refused; the Go operator never comes back from it",
    "rs-profiling-complete-beta": "a graph of v1beta1 keeps its components",
    "rs-profiling-complete-two": "of two graphs none is taken",
    "rs-deploying-foreign": "a graph that was not made for the request is left alone",
    "rs-deploying-noname-foreign": "as rs-deploying-foreign",
    "rs-ready-autoapply-turned-on": "autoApply alone may be switched on later",
    "rs-failed-edited": "another spec begins anew",
    "pj-026": "a reference to no ConfigMap is passed over: an API server refuses a volume without a name",
    "re-daemonset-none": "without an agent pods start cold, and the component says so",
    **dict.fromkeys(("ps-hub", "ps-hub2", "ps-hub3"), _HUB),
    "ps-dockercfg": "Secrets of the older type count, too",
    "ps-subpath": "of several addresses that an image is at, the longest counts, as for the kubelet",
    "ps-init": "images of init containers are pulled, too",
    "ps-broken": _BROKEN,
    "ps-emptyauth": _BROKEN,
}

# what GPU discovery finds
DISCOVERED: Final[Mapping[str, str]] = {
    "pj-050": "totalGpus is the sum of the nodes' counts",
    **dict.fromkeys(("pj-070", "pj-071", "pj-072", "pj-073", "pj-079", "pj-080"), _UNKNOWN),
    "pj-075": "a slice of a GPU is no GPU",
    "pj-092": _BOARD,
    "pj-096": _BOARD,
}

OTHERS: Final[Mapping[str, str]] = {
    "ms-del-name-a%2Fb": "a percent sign is escaped: the worker would otherwise unload the adapter `a/b`",
    "cj-028": _NO_NAME,
    "cj-029": _NO_NAME,
    "cs-running-done": "a snapshot that the agent calls complete is ready although its worker still runs",
    "re-identity-two": "of several of one identity the oldest counts",
    "re-gms-onlyck-gate": "the recorded pod names a claim that it doesn't have, which an API server refuses",
    "rs-profiling-complete-nokey": _ENDED,
    "rs-profiling-complete-notyaml": _ENDED,
    "rs-deploying-create-cms": "only ConfigMaps that the result names are given to the graph: to find others is to list those of everybody",
    "pj-046": "a graph of another namespace is refused by validation, not made in the request's",
}

# what was decided after the record was made: a field that is accepted has its effect, or is named (docs/decisions.md)
EFFECTIVE: Final[Mapping[str, str]] = {
    "cj-031": "a second mount of the shared memory stays, at its own path",
    "pj-037": "the overlay mounts a volume that the pod doesn't have, which an API server refuses",
}

DIFFERENT: Final[Mapping[str, str]] = {**LISTED, **DISCOVERED, **OTHERS, **EFFECTIVE}


def check(cases: Mapping[str, list[str]]) -> None:
    """Fails with each case that differs and isn't listed, or is listed and agrees; `cases` says how each differs."""
    wrong = [f"{name}: {'; '.join(how[:5]) or 'listed, but agrees'}" for name, how in cases.items() if bool(how) != (name in DIFFERENT)]
    assert not wrong, "\n".join(wrong)
