"""Thirty policies as platform teams write them, for a cluster and for `check`."""

from typing import Any, Final, TypeAlias

Node: TypeAlias = dict[str, Any]
GROUP: Final = "admissionregistration.k8s.io"
_GRAPHS: Final = "dynamographdeployments"
_POD: Final = "c.podTemplate.spec"
_CONTAINERS: Final = f"(has(c.podTemplate) && has({_POD}) && has({_POD}.containers) ? {_POD}.containers : [])"


def _each(expression: str) -> str:
    return f"object.spec.components.all(c, {expression})"


def _containers(expression: str) -> str:
    return _each(f"{_CONTAINERS}.all(d, {expression})")


# name -> the expression, and what else the policy says
_V1BETA1: Final[dict[str, tuple[str, Node]]] = {
    "replica-limit": (_each("!has(c.replicas) || c.replicas <= 2"), {"message": "at most 2 replicas"}),
    "two-replicas": (_each("!has(c.type) || c.type != 'frontend' || (has(c.replicas) && c.replicas >= 2)"), {}),
    "few-components": ("object.spec.components.size() <= 2", {"messageExpression": "'got ' + string(object.spec.components.size())"}),
    "short-names": ("object.metadata.name.size() <= 9", {"message": " a short name "}),
    "name-prefix": ("object.metadata.name.startsWith('p') || object.metadata.name.endsWith('7')", {"message": "p or 7"}),
    "dns-components": (_each("c.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"), {"message": "lower case names"}),
    "team-label": ("has(object.metadata.labels) && 'team' in object.metadata.labels", {"message": "label team", "reason": "Forbidden"}),
    "team-optional": ("object.metadata.?labels[?'team'].orValue('none') in ['chat', 'search']", {}),
    "no-annotations": ("!has(object.metadata.annotations) || object.metadata.annotations.size() == 0", {"message": "no annotations"}),
    "no-latest": (_containers("!has(d.image) || !d.image.endsWith(':latest')"), {"message": "no tag latest"}),
    "tagged": (_containers("!has(d.image) || d.image.contains(':')"), {"message": "a tag"}),
    "registry": (
        _containers("!has(d.image) || ['nvcr.io/', 'x/'].exists(r, d.image.startsWith(r))"),
        {"messageExpression": "'images of ' + object.metadata.name"},
    ),
    "no-privileged": (_containers("!has(d.securityContext) || !d.securityContext.?privileged.orValue(false)"), {}),
    "no-host-network": (_each(f"!has(c.podTemplate) || !has({_POD}) || !has({_POD}.hostNetwork) || !{_POD}.hostNetwork"), {}),
    "env-without-secrets": (
        _containers("!has(d.env) || d.env.all(e, !e.name.lowerAscii().contains('token') || has(e.valueFrom))"),
        {"message": "secrets by reference"},
    ),
    "gpu-quantity": (
        _containers(
            "!has(d.resources) || !has(d.resources.limits) || !('nvidia.com/gpu' in d.resources.limits) "
            "|| quantity(string(d.resources.limits['nvidia.com/gpu'])).isLessThan(quantity('2'))"
        ),
        {"message": "less than 2 GPUs"},
    ),
    "memory-limit": (_containers("has(d.resources) && has(d.resources.limits) && 'memory' in d.resources.limits"), {"message": "memory"}),
    "model-named": (_each("!has(c.modelRef) || c.modelRef.name.contains('/')"), {"message": "organisation/model"}),
    "unique-types": ("object.spec.components.map(c, c.?type.orValue('')).filter(t, t == 'frontend').size() <= 1", {}),
    "one-worker": ("object.spec.components.exists_one(c, c.?type.orValue('worker') == 'worker')", {"message": "one worker"}),
    "some-worker": ("object.spec.components.exists(c, c.?type.orValue('worker') == 'worker')", {"message": "a worker"}),
    "fails-closed": ("object.spec.components[1].name != ''", {"message": "a second component"}),
    "reads-nothing": (_each("c.replicas < 100"), {}),
    "not-in-prod": ("request.operation != 'CREATE' || !request.namespace.startsWith('prod')", {"message": "not in prod"}),
    "by-request": ("request.kind.version in ['v1alpha1', 'v1beta1'] && request.resource.group == 'nvidia.com'", {}),
    "new-object": ("oldObject == null || object.spec == oldObject.spec", {"message": "no changes"}),
    "sorted-names": ("object.spec.components.map(c, c.name).isSorted()", {"message": "sorted"}),
    "joined-names": (
        "object.spec.components.map(c, c.name).join('-').size() < 12",
        {"messageExpression": "'%s is long: %d'.format([object.spec.components.map(c, c.name).join('-'), 12])"},
    ),
}
_V1ALPHA1: Final[dict[str, tuple[str, Node]]] = {
    "services-few": ("!has(object.spec.services) || object.spec.services.size() <= 1", {"message": "one service"}),
    "services-named": ("has(object.spec.services) && object.spec.services.all(k, k.lowerAscii() == k)", {"message": "lower case"}),
}
_EXTRA: Final[dict[str, Node]] = {
    "registry": {"matchConditions": [{"name": "several", "expression": "object.spec.components.size() > 1"}]},
    "reads-nothing": {"failurePolicy": "Ignore"},
    "few-components": {
        "variables": [
            {"name": "count", "expression": "object.spec.components.size()"},
            {"name": "most", "expression": "variables.count - 1"},
        ],
        "validations": [{"expression": "variables.most < 2", "messageExpression": "'got ' + string(variables.count)"}],
    },
    "tagged": {"matchConstraints": {"matchPolicy": "Exact"}},
    "no-latest": {"matchConstraints": {"objectSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}},
    "sorted-names": {"matchConstraints": {"namespaceSelector": {"matchExpressions": [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]}}},
}  # fmt: skip


def policies() -> list[Node]:
    """All of them, each with a binding that warns, so that one write is judged by every one."""
    found = []
    for version, table in (("v1beta1", _V1BETA1), ("v1alpha1", _V1ALPHA1)):
        for name, (expression, said) in table.items():
            extra = dict(_EXTRA.get(name, {}))
            rule = {"apiGroups": ["nvidia.com"], "apiVersions": [version], "operations": ["CREATE", "UPDATE"], "resources": [_GRAPHS]}
            constraints = {"resourceRules": [rule], **extra.pop("matchConstraints", {})}
            spec = {"matchConstraints": constraints, "validations": [{"expression": expression, **said}], **extra}
            found.append({"apiVersion": f"{GROUP}/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec})
            bound = {"policyName": name, "validationActions": ["Warn"]}
            found.append(
                {"apiVersion": f"{GROUP}/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": bound}
            )
    return found
