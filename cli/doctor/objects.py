"""What must hold for CustomResourceDefinitions, the policy that guards them, and webhook configurations; trust is in certificates.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dynamo_webhooks.admission.registration import Purpose
from dynamo_webhooks.api.crd_manifest import ALLOW_DATA_LOSS
from dynamo_webhooks.api.kinds import BY_ALIAS, BY_NAME, KINDS, Kind
from dynamo_webhooks.api.line import of_definition, of_version
from dynamo_webhooks.certs.inject import PATH
from dynamo_webhooks.certs.state import TargetKind
from dynamo_webhooks.cli.doctor import repairs
from dynamo_webhooks.cli.doctor.finding import Finding, error, warning
from dynamo_webhooks.kube.storage_versions import definition
from dynamo_webhooks.webhooks.routes import ROUTES, Route

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dynamo_webhooks.cli.doctor.sight import Sight

Node = dict[str, Any]
_PURPOSES = {TargetKind.MUTATING: Purpose.MUTATE, TargetKind.VALIDATING: Purpose.VALIDATE}


def kinds(sight: Sight) -> Iterator[Finding]:
    """Every kind is there, served in its versions, and stored in versions that exist."""
    for kind in KINDS:
        crd = sight.crds[kind.plural]
        if crd is not None:
            yield from _kind(kind, crd, repairs.definitions(sight.about))
        elif kind.crd_name not in sight.unseen:
            yield error("kinds", _named(kind), "is not there: the API server doesn't know the kind", repairs.definitions(sight.about))


def lines(sight: Sight) -> Iterator[Finding]:
    """The definitions are those of the operator's line: fields of a later one don't exist below it, and its rules refuse there."""
    kind, version = BY_ALIAS["DGD"], sight.about.version
    line = of_definition(sight.crds[kind.plural])
    if line is None or not version or of_version(version) is line:
        return
    text = f"is of line {line} of the operator, and operator.version is {version}, of line {of_version(version)}: they must be of one line"
    yield warning("line", _named(kind), text, repairs.definitions(sight.about, of_version(version)) if line < of_version(version) else "")


def _kind(kind: Kind, crd: Node, repair: str) -> Iterator[Finding]:
    spec, status, known = crd.get("spec") or {}, crd.get("status") or {}, definition(crd)
    conditions = {str(each.get("type")): each for each in status.get("conditions") or () if isinstance(each, dict)}
    if (conditions.get("Established") or {}).get("status") != "True":
        said = (conditions.get("NamesAccepted") or {}).get("message") or "no reason is given"
        yield error("kinds", _named(kind), f"must be established, and is not: {said}", repair)
    missing = [version.name for version in kind.versions if version.name not in known.served]
    if missing:
        yield error("kinds", _named(kind), f"must serve {' and '.join(missing)}, and doesn't", repair)
    lost = [version for version in known.stored if version not in known.versions]
    if lost:
        yield error("stored-versions", _named(kind), f"objects may be stored in {', '.join(lost)}, which is no version of it any more")
    yield from _conversion(kind, spec.get("conversion") or {})


def _conversion(kind: Kind, conversion: Mapping[str, Any]) -> Iterator[Finding]:
    """The parts of our stanza; whose it is, and whom it trusts, is looked at elsewhere."""
    webhook = conversion.get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service")
    if len(kind.versions) < 2 or not isinstance(service, dict):
        return
    if service.get("path") != PATH:
        change: dict[str, object] = {"op": "add", "path": "/spec/conversion/webhook/clientConfig/service/path", "value": PATH}
        text = f"spec.conversion must lead to {PATH}, and leads to {service.get('path') or '/'}"
        yield error("conversion", _named(kind), text, repairs.patch("CustomResourceDefinition", kind.crd_name, change))
    if "v1" not in (webhook.get("conversionReviewVersions") or ()):
        change = {"op": "add", "path": "/spec/conversion/webhook/conversionReviewVersions", "value": ["v1"]}
        text = "spec.conversion.webhook.conversionReviewVersions must hold v1, or nobody understands the other"
        yield error("conversion", _named(kind), text, repairs.patch("CustomResourceDefinition", kind.crd_name, change))


def configurations(sight: Sight) -> Iterator[Finding]:
    """Both configurations are there, and send every kind and version to its path."""
    for kind, name in sight.about.targets:
        if kind not in _PURPOSES:
            continue
        found, what = sight.configurations[kind], f"{kind} {name}"
        if found is None:
            if name not in sight.unseen:
                yield error("configurations", what, "is not there: nothing is judged or defaulted", repairs.manifests(sight.about))
            continue
        ours = {path: entry for entry in found.get("webhooks") or () if (path := _path(entry, sight))}
        if not ours:
            text = f"no entry leads to the Service {sight.namespace}/{sight.about.profile.service}: nothing is judged or defaulted"
            yield error("configurations", what, text, repairs.manifests(sight.about))
            continue
        for route in ROUTES.values():
            if route.purpose is _PURPOSES[kind]:
                yield from _entry(what, route, ours.get(route.path), repairs.manifests(sight.about))
        for index, entry in enumerate(found.get("webhooks") or ()):
            if _path(entry, sight) and entry.get("failurePolicy") == "Ignore":
                change: dict[str, object] = {"op": "replace", "path": f"/webhooks/{index}/failurePolicy", "value": "Fail"}
                text = f"{entry['name']} must fail when nobody answers, and lets the request pass: failurePolicy is Ignore"
                yield warning("configurations", what, text, repairs.patch(kind, name, change))


def _entry(what: str, route: Route, entry: Node | None, repair: str) -> Iterator[Finding]:
    if entry is None:
        yield error("configurations", what, f"no entry leads to {route.path}: {route.text} passes by", repair)
        return
    wanted = ({"CREATE"} if route.purpose is Purpose.MUTATE else {"CREATE", "UPDATE"}) - {
        operation
        for rule in entry.get("rules") or ()
        if BY_NAME[route.kind].plural in rule.get("resources", ()) and {route.version, "*"} & {*rule.get("apiVersions", ())}
        for operation in (("CREATE", "UPDATE") if "*" in rule.get("operations", ()) else rule.get("operations", ()))
    }
    if wanted:
        text = f"{entry['name']} must match {' and '.join(sorted(wanted))} of {route.text}, and its rules don't"
        yield error("configurations", what, text, repair)


def _path(entry: Node, sight: Sight) -> str:
    """Where an entry leads; empty when that isn't our Service."""
    service = (entry.get("clientConfig") or {}).get("service") or {}
    ours = (service.get("name"), service.get("namespace")) == (sight.about.profile.service, sight.namespace)
    return str(service.get("path") or "/") if ours else ""


def _named(kind: Kind) -> str:
    return f"CustomResourceDefinition {kind.crd_name}"


def guard(sight: Sight) -> Iterator[Finding]:
    """The policy is there and bound, and no definition carries the annotation that gets past it."""
    if not any(kind is TargetKind.CRD for kind, _ in sight.about.targets):
        return  # an installation for one namespace: definitions are somebody else's
    name = sight.policy_name
    for kind, found in (("ValidatingAdmissionPolicy", sight.policy), ("ValidatingAdmissionPolicyBinding", sight.binding)):
        if found is None and kind not in sight.unseen:
            text = "is not there: an update that switches conversion off would be accepted, and objects would lose fields"
            yield warning("guard", f"{kind} {name}", text, repairs.manifests(sight.about))
    actions = ((sight.binding or {}).get("spec") or {}).get("validationActions") or []
    if sight.binding is not None and "Deny" not in actions:
        text = f"spec.validationActions must hold Deny, got {', '.join(actions) or 'nothing'}: nothing is refused"
        yield warning("guard", f"ValidatingAdmissionPolicyBinding {name}", text, repairs.manifests(sight.about))
    for each in KINDS:
        notes = ((sight.crds[each.plural] or {}).get("metadata") or {}).get("annotations") or {}
        if notes.get(ALLOW_DATA_LOSS) == "true":
            text = f"carries the annotation {ALLOW_DATA_LOSS}: updates that lose data are accepted until it is taken back"
            repair = f"kubectl annotate crd {each.crd_name} --overwrite {ALLOW_DATA_LOSS}=false"
            yield warning("guard", f"CustomResourceDefinition {each.crd_name}", text, repair)
