"""The endpoint picker by the version of its runtime: since 1.5.0 it is part of the runtime, and takes no configuration of its own."""

from __future__ import annotations

from typing import Any

from ..at import At
from ..domain import find_main
from ..image_tag import explain_missing_version, runtime_version
from ..review import Fields
from ..rule import COMPONENT, DCD, Hits, Stage, rule

_NATIVE = (1, 5, 0)  # the first runtime with a picker of its own


def _unchanged(at: At) -> bool:
    """Whether an update leaves all as it was that says which picker runs."""
    return at.old is not None and _contract(at.old) == _contract(at.value)


def _contract(part: Fields) -> tuple[Any, ...]:
    return find_main(part)[0].get("image"), *(part.get(name) for name in ("runtimeVersionOverride", "type", "eppConfig"))


@rule("DYN234", where=COMPONENT, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_config_forbidden(at: At) -> Hits:
    """An endpoint picker of a runtime from 1.5.0 on has a configuration.

    Why
        These runtimes have a picker of their own, which reads no such block.

    Fix
        Remove `eppConfig`, in the same update as the new image if there is one.

    Example
    bad spec:
    bad   components:
    bad     - name: picker
    bad       type: epp
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
    bad       eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}  # expect
    ok  spec: {components: [{name: picker, type: epp, podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}}]}
    """
    version = runtime_version(at.value)
    if at.value.get("eppConfig") is not None and version is not None and version >= _NATIVE and not _unchanged(at):
        yield at.forbidden("eppConfig", "must be unset from runtime 1.5.0 on, whose picker reads no configuration")


@rule("DYN235", where=COMPONENT, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_config_required(at: At) -> Hits:
    """An endpoint picker of a runtime below 1.5.0 has no configuration.

    Why
        The picker's configuration selects the plugins that filter and score endpoints, and no default suits every model.

    Fix
        Set `eppConfig` with a `configMapRef` or an inline `config`, or use a runtime from 1.5.0 on.

    Example
        spec:
          components:
    bad     - {name: picker, type: epp, podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}}  # expect
    ok      - name: picker
    ok        type: epp
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}
    ok        eppConfig: {configMapRef: {name: picker-config, key: epp.yaml}}
    """
    version = runtime_version(at.value)
    if at.value.get("eppConfig") is None and version is not None and version < _NATIVE and not _unchanged(at):
        yield at.required("eppConfig", "must be set for a picker of a runtime below 1.5.0, got nothing")


@rule("DYN236", where={DCD: "spec"}, when="type=epp", stage=Stage.EPP, ratchets=False, since="1.5")
def epp_runtime_version_required(at: At) -> Hits:
    """The image of a standalone endpoint picker doesn't say which version of the runtime it holds.

    Why
        By the version the operator knows whether the picker needs a configuration.

    Fix
        Use an image whose tag is a version of three numbers, or set `runtimeVersionOverride`.

    Example
        # kind: DynamoComponentDeployment/v1beta1
        spec:  # expect
          type: epp
    ok    runtimeVersionOverride: 1.5.0
          podTemplate: {spec: {containers: [{name: main, image: "example/frontend:latest"}]}}
    """
    if not _unchanged(at):
        yield from explain_missing_version(at, [at.main[0].get("image")])


@rule("DYN237", where=COMPONENT, when="eppConfig", stage=Stage.EPP, since="1.6")
def epp_runtime_single_replica(at: At) -> Hits:
    """An endpoint picker with a configuration has another number of replicas than one.

    Why
        Each picker of a runtime below 1.5.0 knows only the requests that it routed itself, so two of them would work against each other.
        Later ones share what they know.

    Fix
        Set `replicas` to 1, or leave it out.

    Example
        spec:
          components:
            - name: picker
              type: epp
              replicas: 2  # expect
    bad       podTemplate: {spec: {containers: [{name: main, image: "example/picker:1.4.0"}]}}
    bad       eppConfig: {configMapRef: {name: c, key: k}}
    ok        podTemplate: {spec: {containers: [{name: main, image: "example/frontend:1.5.0"}]}}
    """
    replicas = at.value.get("replicas")
    # a negative number is refused by replicas-non-negative
    if at.value.get("type") == "epp" and replicas not in (None, 1) and replicas >= 0:
        yield at.invalid("replicas", replicas, f"must be 1 for an endpoint picker with eppConfig, got {replicas}")
