"""The ValidatingAdmissionPolicy that keeps our CustomResourceDefinitions from losing data unseen, as manifests hold it.

The API server converts and prunes by what a definition says at that moment. With conversion off, a version gone or fields missing from a
schema, it answers every write with 200 and drops what the definition no longer says. The policy refuses such an update of a definition.
"""

from textwrap import indent
from typing import Final

from .crd import ALLOW_DATA_LOSS, NAMESPACE, SERVICE
from .kinds import BETA, KINDS
from .schema import PRESERVE, Node

NAME: Final = f"{SERVICE}-definitions"
PROVISIONER: Final = f"system:serviceaccount:{NAMESPACE}:{SERVICE}-provisioner"
COMPARED_LEVELS: Final = 16  # fields inside fields that are compared; our deepest field is the twelfth, which a test holds
_LABELS: Final = {
    "app.kubernetes.io/name": SERVICE,
    "app.kubernetes.io/component": "definitions",
    "app.kubernetes.io/part-of": "dynamo-operator",
    "nvidia.com/dynamo-operator-namespace": NAMESPACE,
}
_PRESERVE: Final = f"'{PRESERVE}'"
_ACKNOWLEDGE: Final = f"' To do it all the same, set the annotation {ALLOW_DATA_LOSS} to \"true\" in the same request'"
_NOTES: Final = "object.metadata.annotations"
_UNACKNOWLEDGED: Final = f"!has({_NOTES}) || !('{ALLOW_DATA_LOSS}' in {_NOTES}) || {_NOTES}['{ALLOW_DATA_LOSS}'] != 'true'"
_FROM_FILES: Final = "apply the definitions that `dynamo-webhooks crds --cluster` prints instead."
_UPDATES: Final = {
    "apiGroups": ["apiextensions.k8s.io"],
    "apiVersions": ["v1"],
    "resources": ["customresourcedefinitions"],
    "resourceNames": [kind.crd_name for kind in KINDS],
    "operations": ["UPDATE"],
    "scope": "Cluster",
}


def policy() -> Node:
    """Returns the policy for the default names. It matches updates of our definitions by name, and nothing else."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": NAME, "labels": dict(_LABELS)},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [_UPDATES]},
            "matchConditions": [
                # it repairs conversion, and must do so even when an expression below fails
                {"name": "not-the-provisioner", "expression": f"request.userInfo.username != '{PROVISIONER}'"},
                {"name": "not-acknowledged", "expression": _UNACKNOWLEDGED},
            ],
            "variables": _variables(),
            "validations": _validations(),
        },
    }


def binding() -> Node:
    """Returns the binding that makes the policy refuse."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": NAME, "labels": dict(_LABELS)},
        "spec": {"policyName": NAME, "validationActions": ["Deny"]},
    }


def _variables() -> list[Node]:
    """Lists the variables that messages name. A variable is evaluated once, when it is first used."""
    unserved = "variables.served.filter(o, !object.spec.versions.exists(n, n.name == o.name && n.served)).map(o, string(o.name))"
    narrowed = (
        "variables.served.filter(v, has(v.schema) && has(v.schema.openAPIV3Schema) &&\n"
        "  object.spec.versions.exists(w, w.name == v.name && w.served &&\n"
        "    !(has(w.schema) && has(w.schema.openAPIV3Schema) && (v.schema == w.schema ||\n"
        "      [v.schema.openAPIV3Schema].all(o, [w.schema.openAPIV3Schema].all(n,\n"
        f"{indent(_keeps_fields(COMPARED_LEVELS), '        ')})))))).map(v, string(v.name))"
    )
    return [
        {"name": "served", "expression": "oldObject.spec.versions.filter(v, v.served)"},
        {"name": "unserved", "expression": unserved},
        {"name": "narrowed", "expression": narrowed},
        {"name": "lost", "expression": _lost()},
    ]


def _keeps_fields(levels: int) -> str:
    """Whether schema `n` has every field of schema `o`: CEL has no recursion, so the same text is written once a level."""
    if not levels:
        return "true"
    opened = f"(!has(o.additionalProperties) || has(n.additionalProperties) || {_PRESERVE} in n)"
    free = f"(!({_PRESERVE} in o) || {_PRESERVE} in n)"
    below = "[p.properties[k]].all(o, [q.properties[k]].all(n,\n" + indent(_keeps_fields(levels - 1), " ") + "))"
    fields = f"!has(p.properties) || p.properties.all(k, !(has(q.properties) && k in q.properties) ? {_PRESERVE} in q :\n{below})"
    return f"{opened} && {free} &&\n[{_inside('o')}].all(p, [{_inside('n')}].all(q, {fields}))"


def _lost() -> str:
    """The fields of spec and of its members that narrowed schemas lack, such as `spec.components[].lpx`, as text."""
    member = "'spec.' + k + (has(m.items) ? '[].' : has(m.additionalProperties) ? '{}.' : '.')"
    below = (
        f"[o[k]].map(m, [n[k]].map(l, [{_inside('m')}].map(p, [{_inside('l')}].map(q,\n"
        f"      !has(p.properties) ? '' :\n"
        f"      p.properties.filter(j, !has(q.properties) || !(j in q.properties)).map(j, {member} + j).join(', ')"
        ")[0])[0])[0])[0]"
    )
    schema, spec = "schema.openAPIV3Schema.properties", "schema.openAPIV3Schema.properties.spec.properties"
    there = " && ".join(f"has({version}.{schema}) && 'spec' in {version}.{schema} && has({version}.{spec})" for version in ("v", "w"))
    return (
        "variables.served.filter(v, v.name in variables.narrowed).map(v, object.spec.versions.filter(w, w.name == v.name &&\n"
        f"  {there}).map(w,\n"
        f"  [v.{spec}].map(o, [w.{spec}].map(n,\n"
        "    (o.filter(k, !(k in n)).map(k, 'spec.' + k) + o.filter(k, k in n).map(k,\n"
        f"      {below}\n"
        "    )).filter(text, text != '').join(', '))[0])[0]).join(', ')).filter(text, text != '').join(', ')"
    )


def _inside(schema: str) -> str:
    """The schema that holds the fields: of a list's elements, of a map's values, or the schema itself."""
    values = f"{schema}.additionalProperties"
    return f"has({schema}.items) ? {schema}.items : has({values}) && type({values}) == map ? {values} : {schema}"


def _validations() -> list[Node]:
    kind = "object.spec.names.kind"
    newest = f"v.storage && v.name == '{BETA}'"
    converts = "has({0}.spec.conversion) && {0}.spec.conversion.strategy == 'Webhook'"
    return [
        {
            "expression": f"!({converts.format('oldObject')}) || ({converts.format('object')})",
            "messageExpression": f"{kind} + ': spec.conversion.strategy must stay Webhook: without the webhook the API server drops fields "
            f"from every object that is read or written in the other version, and reports success; {_FROM_FILES}' + {_ACKNOWLEDGE}",
        },
        {
            "expression": "variables.unserved.size() == 0",
            "messageExpression": f"{kind} + ': spec.versions must still serve ' + variables.unserved.join(' and ') + ': clients of that "
            f"version, garbage collection among them, can no longer reach the objects; {_FROM_FILES}' + {_ACKNOWLEDGE}",
        },
        {
            "expression": f"!oldObject.spec.versions.exists(v, {newest}) || object.spec.versions.exists(v, {newest})",
            "messageExpression": f"{kind} + ': spec.versions must keep storing objects in {BETA}: the definitions are of an earlier "
            f"operator release; apply those of `dynamo-webhooks crds --cluster` instead.' + {_ACKNOWLEDGE}",
        },
        {
            "expression": "variables.narrowed.size() == 0",
            "messageExpression": f"{kind} + ': the schema of ' + variables.narrowed.join(' and ') + ' must keep all its fields' + "
            "(variables.lost == '' ? '' : ', and lacks ' + variables.lost) + ': the API "
            f"server removes every other field from the objects, and reports success; {_FROM_FILES}' + {_ACKNOWLEDGE}",
        },
    ]
