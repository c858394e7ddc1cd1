"""Checks definitions, the policy that guards them, and webhook configurations; trust is in certificates.py."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ....admission.new_pods import PATH, SELECTOR
from ....admission.registration import Purpose
from ....api.crd import ALLOW_DATA_LOSS
from ....api.kinds import BY_ALIAS, BY_NAME, KINDS, Kind
from ....api.line import NEWEST, OLDEST, decide_line, explain_upgrades, is_beyond, of_release
from ....api.unknown_fields import WRITTEN, describe_later_release
from ....certs.names import CONVERT
from ....certs.state import TargetKind
from ....kube.storage_versions import read_definition
from ....webhooks.routes import ROUTES, Route
from . import repairs
from .finding import DoctorFinding, error, warning
from .observe import ClusterView, name_policy

Node = dict[str, Any]
_PURPOSES = {TargetKind.MUTATING: Purpose.MUTATE, TargetKind.VALIDATING: Purpose.VALIDATE}


def check_kinds(view: ClusterView) -> Iterator[DoctorFinding]:
    """Every kind of the line is there, served in its versions, and stored in versions that exist."""
    line = decide_line(view.about.version, view.line)
    for kind in KINDS:
        crd = view.crds[kind.plural]
        if crd is not None:
            yield from _kind(kind, crd, repairs.apply_definitions(view.about))
        elif kind.crd_name not in view.forbidden and kind.is_of(line) and kind.since is OLDEST:  # a gate leaves out the others
            yield error("kinds", _named(kind), "is not there: the API server doesn't know the kind", repairs.apply_definitions(view.about))


def check_lines(view: ClusterView) -> Iterator[DoctorFinding]:
    """The definitions are of the release of `operator.version`: otherwise fields are lost or refused."""
    kind, version = BY_ALIAS["DGD"], view.about.version
    line, wanted = view.line, of_release(version)
    if wanted is not None and is_beyond(version):
        text = f"operator.version is {version}, later than operator {NEWEST}, the newest release that is supported here"
        yield warning("line", _named(kind), text)
    written = [view.crds.get(BY_NAME[name].plural) for name in WRITTEN]
    if later := describe_later_release("", decide_line(version, line), written):
        yield warning("line", _named(kind), f"{later}; conversion keeps unknown fields of v1beta1 and v1alpha1, and no rule is about them")
    if line is None or wanted is None or wanted is line:
        return
    text = f"is of operator {line}, and operator.version is {version}: both must be of one operator release"
    if line < wanted:
        text += f"; if your operator is of release {line}, set operator.version to {line}.0 instead of the repair"
        text += f"; {steps}" if (steps := explain_upgrades(line, wanted)) else ""
        yield error("line", _named(kind), text, repairs.apply_definitions(view.about, wanted))
    else:
        text += f"; set operator.version to {line}.0, also in your own manifests, or unknown fields are lost and known ones refused"
        yield error("line", _named(kind), text, repairs.set_version(view.parts, version, f"{line}.0"))


def _kind(kind: Kind, crd: Node, repair: str) -> Iterator[DoctorFinding]:
    spec, status, known = crd.get("spec") or {}, crd.get("status") or {}, read_definition(crd)
    conditions = {str(each.get("type")): each for each in status.get("conditions") or () if isinstance(each, dict)}
    if (conditions.get("Established") or {}).get("status") != "True":
        message = (conditions.get("NamesAccepted") or {}).get("message") or "no reason is given"
        yield error("kinds", _named(kind), f"must be established, but is not: {message}", repair)
    missing = [version.name for version in kind.versions if version.name not in known.served]
    if missing:
        yield error("kinds", _named(kind), f"must serve {' and '.join(missing)}, and doesn't", repair)
    lost = [version for version in known.stored if version not in known.versions]
    if lost:
        yield error("stored-versions", _named(kind), f"objects may be stored in {', '.join(lost)}, which is no version of it any more")
    yield from _conversion(kind, spec.get("conversion") or {})


def _conversion(kind: Kind, conversion: Mapping[str, Any]) -> Iterator[DoctorFinding]:
    """The parts of our stanza; whose it is, and whom it trusts, is looked at elsewhere."""
    webhook = conversion.get("webhook") or {}
    service = (webhook.get("clientConfig") or {}).get("service")
    if len(kind.versions) < 2 or not isinstance(service, dict):
        return
    if service.get("path") != CONVERT:
        text = f"spec.conversion must lead to {CONVERT}, and leads to {service.get('path') or '/'}"
        repair = repairs.patch(TargetKind.CRD, kind.crd_name, "/spec/conversion/webhook/clientConfig/service/path", CONVERT)
        yield error("conversion", _named(kind), text, repair)
    if service.get("port", repairs.PORT) != repairs.PORT:
        text = f"spec.conversion must call port {repairs.PORT} of the Service, and calls {service['port']}"
        repair = repairs.patch(TargetKind.CRD, kind.crd_name, "/spec/conversion/webhook/clientConfig/service/port", repairs.PORT)
        yield error("conversion", _named(kind), text, repair)
    if "v1" not in (webhook.get("conversionReviewVersions") or ()):
        text = "spec.conversion.webhook.conversionReviewVersions must contain v1, the only version that the server supports"
        repair = repairs.patch(TargetKind.CRD, kind.crd_name, "/spec/conversion/webhook/conversionReviewVersions", ["v1"])
        yield error("conversion", _named(kind), text, repair)


def check_configurations(view: ClusterView) -> Iterator[DoctorFinding]:
    """Both configurations are there, and send every kind and version to its path."""
    for kind, name in view.about.targets:
        if kind not in _PURPOSES:
            continue
        configuration, what = view.configurations[kind], f"{kind} {name}"
        if configuration is None:
            if name not in view.forbidden:
                yield error("configurations", what, "is not there: nothing is validated or defaulted", view.parts.restore(kind, name))
            continue
        repair = _whole_again(view, kind, name, configuration)
        ours = {path: entry for entry in configuration.get("webhooks") or () if (path := _path(entry, view))}
        if not ours:
            text = f"no entry leads to the Service {view.namespace}/{view.about.profile.service}: nothing is validated or defaulted"
            yield error("configurations", what, text, repair)
            continue
        for route in ROUTES.values():
            if route.purpose is _PURPOSES[kind]:
                yield from _entry(what, route, ours.get(route.path), repair)
        for index, entry in enumerate(configuration.get("webhooks") or ()):
            if _path(entry, view) not in ("", PATH) and entry.get("failurePolicy") == "Ignore":
                text = f"{entry['name']} must refuse requests while no server responds, and admits them: failurePolicy is Ignore"
                repair = repairs.patch(kind, name, f"/webhooks/{index}/failurePolicy", "Fail", "replace")
                yield error("configurations", what, text, repair)


def _whole_again(view: ClusterView, kind: TargetKind, name: str, configuration: Node) -> str:
    """Patches the entries that are missing, lead elsewhere or match less than the manifests say; all else stays."""
    key = view.parts.find(kind, name)
    entries = configuration.get("webhooks") or []
    places = {entry.get("name"): index for index, entry in enumerate(entries)}
    bundle = next(filter(None, ((entry.get("clientConfig") or {}).get("caBundle") for entry in entries)), None)
    changes: list[Node] = []
    for wanted in (view.parts.wanted[key].get("webhooks") or ()) if key else ():
        index = places.get(wanted["name"])
        service = wanted["clientConfig"]["service"]
        if index is None:
            config = {"service": service, **({"caBundle": bundle} if bundle else {})}
            changes.append({"op": "add", "path": "/webhooks/-", "value": {**wanted, "clientConfig": config}})
            continue
        now = (entries[index].get("clientConfig") or {}).get("service") or {}
        if any(now.get(part) != service.get(part) for part in ("name", "namespace", "path")):
            changes.append({"op": "add", "path": f"/webhooks/{index}/clientConfig/service", "value": service})
        if entries[index].get("rules") != wanted.get("rules"):
            changes.append({"op": "add", "path": f"/webhooks/{index}/rules", "value": wanted["rules"]})
    if not entries and changes:
        changes = [{"op": "add", "path": "/webhooks", "value": [each["value"] for each in changes]}]
    return repairs.patch_all(kind, name, changes) if changes else ""


def check_new_pods(view: ClusterView) -> Iterator[DoctorFinding]:
    """The entry for new pods is there if pods are restored, and can hold up neither pods of others nor those of components."""
    kind = TargetKind.MUTATING
    name = dict(view.about.targets)[kind]
    configuration, what = view.configurations[kind], f"{kind} {name}"
    entries = [
        (index, webhook) for index, webhook in enumerate((configuration or {}).get("webhooks") or ()) if _path(webhook, view) == PATH
    ]
    if configuration is not None and not entries and view.about.restores:
        text = f"no entry leads to {PATH}: workers are restored, but pods that are added to cold ones start cold"
        yield warning("new-pods", what, f"{text}; apply manifests/components/checkpoints")
    for index, entry in entries:
        chosen = entry.get("objectSelector") or {}
        keys = {*(chosen.get("matchLabels") or {}), *(expression.get("key") for expression in chosen.get("matchExpressions") or ())}
        wrong: dict[str, tuple[object, str]] = {}
        if entry.get("failurePolicy") != "Ignore":
            wrong["failurePolicy"] = ("Ignore", "new pods are refused while no server responds")
        if SELECTOR not in keys:
            selector = {"matchExpressions": [{"key": SELECTOR, "operator": "Exists"}]}
            wrong["objectSelector"] = (selector, "every new pod of the cluster waits for the server")
        for field, (value, harm) in wrong.items():
            text = f"{entry['name']}: {field} must be {json.dumps(value)}: {harm}"
            yield error("new-pods", what, text, repairs.patch(kind, name, f"/webhooks/{index}/{field}", value))


def _entry(what: str, route: Route, entry: Node | None, repair: str) -> Iterator[DoctorFinding]:
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


def _path(entry: Node, view: ClusterView) -> str:
    """The path that an entry calls; empty if it doesn't call our Service."""
    service = (entry.get("clientConfig") or {}).get("service") or {}
    ours = (service.get("name"), service.get("namespace")) == (view.about.profile.service, view.namespace)
    return str(service.get("path") or "/") if ours else ""


def _named(kind: Kind) -> str:
    return f"CustomResourceDefinition {kind.crd_name}"


def check_guard(view: ClusterView) -> Iterator[DoctorFinding]:
    """The policy is there and bound, and no definition carries the annotation that gets past it."""
    if not any(kind is TargetKind.CRD for kind, _ in view.about.targets):
        return  # an installation for one namespace: another installation owns the definitions
    name = name_policy(view.about)
    for kind, obj in (("ValidatingAdmissionPolicy", view.policy), ("ValidatingAdmissionPolicyBinding", view.binding)):
        if obj is None and kind not in view.forbidden:
            text = "is not there: an update that switches conversion off would be accepted, and objects would lose fields"
            yield warning("guard", f"{kind} {name}", text, view.parts.restore(kind, name))
    actions = ((view.binding or {}).get("spec") or {}).get("validationActions") or []
    if view.binding is not None and "Deny" not in actions:
        text = f"spec.validationActions must hold Deny, got {', '.join(actions) or 'nothing'}: nothing is refused"
        kind = "ValidatingAdmissionPolicyBinding"
        yield warning("guard", f"{kind} {name}", text, repairs.patch(kind, name, "/spec/validationActions", ["Deny"]))
    for each in KINDS:
        notes = ((view.crds[each.plural] or {}).get("metadata") or {}).get("annotations") or {}
        if notes.get(ALLOW_DATA_LOSS) == "true":
            text = f"carries the annotation {ALLOW_DATA_LOSS}: updates that lose data are accepted until it is taken back"
            repair = f"kubectl annotate crd {each.crd_name} --overwrite {ALLOW_DATA_LOSS}=false"
            yield warning("guard", _named(each), text, repair)
