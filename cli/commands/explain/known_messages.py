"""Messages of the API server, kubectl and the webhook server that no rule writes, with meaning and remedy."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ....policies.checks import LONG_REMAINDER, SCHEMA_RULE, UNCONVERTIBLE, UNKNOWN_FIELD, UNKNOWN_KIND, WRONG_TYPE
from ....policies.rule import Rule

_DOCTOR: Final = "run `dynamo-webhooks doctor`"


class Words(NamedTuple):
    """A pattern that recognises a message, ignoring case."""

    name: str
    shown: str  # with dots for variable parts
    pattern: str
    meaning: str
    remedy: str
    rule: Rule | None = None  # the rule with which `check` finds the same

    @property
    def page(self) -> dict[str, Any]:
        """The page of this message."""
        rules = [] if self.rule is None else [{"rule": self.rule.name, "code": self.rule.code, "title": self.rule.title}]
        return {"message": self.name, "words": self.shown, "meaning": self.meaning, "remedy": self.remedy, "rules": rules, "fields": []}


# of connections from the API server to the webhooks
TRANSPORT: Final = (
    Words(
        "unknown-authority",
        "x509: certificate signed by unknown authority",
        r"signed by unknown authority",
        "The API server does not trust the webhook's certificate: a `caBundle` lacks the authority that signed it.",
        f"A running provisioner repairs that within seconds. Otherwise {_DOCTOR}.",
    ),
    Words(
        "expired",
        "x509: certificate has expired or is not yet valid",
        r"certificate has expired or is not yet valid",
        "The served certificate or its authority is expired or not yet valid, or a clock is wrong.",
        f"Check that the provisioner runs, and the clocks of the nodes; renew your own certificate; or {_DOCTOR}.",
    ),
    Words(
        "wrong-name",
        "x509: certificate is valid for ..., not ...",
        r"certificate is valid for .*, ?not ",
        "The certificate doesn't name the Service and namespace that are called.",
        "Correct the names in the configuration; the provisioner then issues a certificate. "
        f"Your own certificate must name SERVICE.NAMESPACE.svc; {_DOCTOR}.",
    ),
    Words(
        "common-name",
        "x509: certificate relies on legacy Common Name field",
        r"relies on legacy Common Name field",
        "The certificate has no subject alternative names, so the provisioner didn't issue it.",
        "Use a certificate with subject alternative names, or let the provisioner issue one.",
    ),
    Words(
        "other-certificate",
        "x509: ...",
        r"x509: (?!certificate (?:signed by|has expired|is valid for|relies on))",
        "The API server does not accept the served certificate; the message names the reason.",
        f"Find out who issued the certificate; {_DOCTOR}.",
    ),
    Words(
        "no-pem",
        "tls: failed to find any PEM data",
        r"failed to find any PEM data",
        "A `caBundle`, or a Secret's certificate, is not valid PEM, usually a placeholder that overwrote the certificate.",
        f"Find what applies it, often a chart or a GitOps tool, and let it ignore that field; {_DOCTOR}.",
    ),
    Words(
        "no-server",
        "connect: connection refused; no endpoints available for service ...",
        r"connection refused|no endpoints available for service",
        "No webhook server is ready. If the message names the API server's address, the API server is unreachable.",
        f"Check the pods behind the Service, and their `/readyz`; {_DOCTOR}.",
    ),
    Words(
        "deadline",
        "context deadline exceeded",
        r"context deadline exceeded|Client\.Timeout exceeded",
        "The webhook didn't respond in time: a firewall or a mesh blocks port 9443, or the servers are overloaded.",
        f"Open the port from the control plane to the pods, exclude it from the mesh, or add replicas; {_DOCTOR}.",
    ),
    Words(
        "no-service",
        'service "..." not found',
        r'service "[^"]*" not found',
        "A webhook configuration or a definition calls a missing Service, usually after an incomplete removal.",
        "Install it again, or finish the removal; `dynamo-webhooks doctor --uninstall-check` lists the remaining steps.",
    ),
    Words(
        "client-certificate",
        "the caller must present a client certificate ...",
        r"must present a client certificate|client certificate must|no authority of client certificates",
        "Admission requires a client certificate (`server.webhook.clientCA`), and the API server presented none that is allowed.",
        "Give every API server a certificate (docs/install.md), or leave `clientCA` empty.",
    ),
    Words(
        "annotation-too-long",
        "metadata.annotations: Too long: must have at most 262144 bytes",
        r"metadata\.annotations: Too long",
        "Client-side `kubectl apply` copies the object to an annotation, for which it is too long.",
        "Use `kubectl apply --server-side`.",
    ),
    Words(
        "invalid-metadata",
        "conversion webhook ... returned invalid metadata",
        # from the first of each to the first of the next, so that no text costs more than a look at each character
        r"returned invalid metadata(?!.*Too long)"
        r"|\A(?:(?!conversion webhook ).)*+conversion webhook (?:(?!expected ).)*+expected .*objects?",
        "A conversion webhook lost an object or changed its metadata. This server does neither, so another one responded.",
        f"Check which server the definition calls; {_DOCTOR}.",
    ),
    Words(
        "too-large",
        "request body too large; 413",
        r"body too large|Request entity too large|\b413\b.*(?:too large|too long)|body must be at most",
        "The request is too large: by default over 7 MiB for an object; for conversions the bound follows from `serving.memory`.",
        "Make the object smaller, or raise `serving.limits` if a webhook refused it.",
    ),
)

# of the API server, about the object
SERVER: Final = (
    Words(
        "unknown-kind",
        'no matches for kind "..." in version "..."',
        r"no matches for kind|ensure CRDs are installed first|doesn't have a resource type",
        "The API server has no definition of this kind in this version.",
        "Correct `apiVersion` and `kind`, run `dynamo-webhooks convert`, or install the definitions that `dynamo-webhooks crds` prints.",
        UNKNOWN_KIND,
    ),
    Words(
        "unknown-field",
        'strict decoding error: unknown field "..."; Warning: unknown field "..."',
        r"unknown field\b",
        "The kind has no such field. `kubectl apply` refuses it; for requests that aren't strict the API server drops it.",
        "Correct the name or remove the field; `dynamo-webhooks check` names the nearest field and its line.",
        UNKNOWN_FIELD,
    ),
    Words(
        "wrong-type",
        "... can't be read as ...; in body must be of type ...",
        r"can't be read as|cannot be handled as a|in body must be of type|cannot unmarshal",
        "A value has the wrong type, such as a string instead of a number.",
        'Correct the type: no quotes around numbers, quotes around strings such as `"8"` or `"on"`.',
        WRONG_TYPE,
    ),
    Words(
        "not-whole",
        "must not be written or deleted in this version, which can't hold all that the object says",
        r"must not be written or deleted in this version",
        "The object is too long for this version, which shows only part of it, with a label.",
        "Use the version that the message names, as in `kubectl edit dynamographdeployments.v1alpha1.nvidia.com/NAME`.",
        LONG_REMAINDER,
    ),
    Words(
        "stored-too-long",
        "conversion webhook ... returned invalid metadata: ... Too long",
        r"returned invalid metadata:.*Too long",
        "The values that the stored version has no field for are too long for annotations.",
        "Make the object smaller; `dynamo-webhooks check` names the largest field.",
        LONG_REMAINDER,
    ),
    Words(
        "name-twice",
        "must be a name that no other component has",
        r"must be a name that no other component has",
        "Two components of a graph have the same name. v1alpha1 has components by name, so it can't represent the graph.",
        "Give each component a name of its own.",
        UNCONVERTIBLE,
    ),
    Words(
        "unconverted",
        "conversion webhook for ... failed: ...",
        r"conversion webhook for .* failed",
        "The object could not be converted between v1alpha1 and v1beta1, so it could be neither stored nor read.",
        "Correct the field that the message names, or what prevented the call.",
        UNCONVERTIBLE,
    ),
    Words(
        "conflict",
        "the object has been modified; please apply your changes to the latest version",
        r"the object has been modified",
        "The object was changed after you read it. No webhook is involved.",
        "Read it again and repeat the change, as `kubectl apply` does.",
    ),
    Words(
        "schema-mismatch",
        "Required value, Unsupported value, Too many, in body should ...",
        r"\bin body should\b|Unsupported value|Required value|Too many:|Duplicate value|(?<!metadata.annotation: )Too long:",
        "The definition's schema does not allow the value. Validating webhooks were not called.",
        "Use an allowed value; `dynamo-webhooks explain` with the field's path lists them.",
        SCHEMA_RULE,
    ),
    Words(
        "definition-guarded",
        "ValidatingAdmissionPolicy '...-definitions' ... denied request: ...",
        r"ValidatingAdmissionPolicy '[^']*-definitions'",
        "The update of a CustomResourceDefinition would make objects silently lose fields.",
        "Apply the definitions that `dynamo-webhooks crds` prints. To lose data on purpose, see docs/certificates.md.",
    ),
    Words(
        "rules-not-checked",
        "some validation rules were not checked because the object was invalid",
        r"some validation rules were not checked",
        "The schema's CEL rules are checked only when the other errors are corrected.",
        "Correct those first; `dynamo-webhooks check` lists both at once where it can.",
    ),
)

# of the webhook server
OURS: Final = (
    Words(
        "fact-missing",
        "could not be judged: the fact ... is not known",
        r"could not be judged: the fact \w+ is not known",
        "A rule needs a fact about the cluster that the server doesn't know, so it refuses.",
        "Supply the fact with `--facts`, or let the server watch the cluster. For `check`, use `--set-fact NAME=VALUE`.",
    ),
    Words(
        "fault",
        "could not be judged: rule ... failed with ...",
        r"could not be judged: rule \S+ failed",
        "A rule raised an exception. This is an internal error, not a mistake in the object.",
        "Report it with the object; `dynamo-webhooks check` prints a command that replays it.",
    ),
    Words(
        "busy",
        "the body must arrive within ...; within ... there was no room",
        r"the body must arrive within|seconds there was no room",
        "The server was busy or the network slow: a request took too long to arrive, or waited too long.",
        "Try again. If it recurs, add replicas, or raise the `serving.limits` that `dynamo_webhooks_bounds_met_total` names.",
    ),
    Words(
        "no-review",
        "the body must be of kind AdmissionReview; request must be an object",
        r"the body must be (?:of kind \w+Review|JSON)|request must be an object|request\.uid must be text",
        "The request is not a review, so no API server sent it, or a registration names the wrong path.",
        "Check the path in the webhook configuration; `dynamo-webhooks review FILE` answers a recorded review.",
    ),
    Words(
        "not-called",
        "failed calling webhook ...",
        r"failed calling webhook|failed to call webhook",
        "The API server got no response from the webhook, for the reason that follows. The object was not judged.",
        f"{_DOCTOR.capitalize()}.",
    ),
)
TABLES: Final = (TRANSPORT, SERVER, OURS)
OF_FIELDS: Final = tuple(entry for entry in SERVER if entry.rule in (SCHEMA_RULE, WRONG_TYPE))  # whose fields `explain` shows


def in_message(text: str) -> Iterator[Words]:
    """The known messages in a text; only those of the transport if there are any, because the object wasn't judged then."""
    for table in TABLES:
        found = [words for words in table if re.search(words.pattern, text, re.IGNORECASE | re.DOTALL)]
        yield from found
        if found and table is TRANSPORT:
            return


def markdown(page: dict[str, Any]) -> str:
    """The page as Markdown."""
    parts = [f"# {page['words']}", page["meaning"], f"**Fix.** {page['remedy']}"]
    parts += [f"`dynamo-webhooks explain '{field}'` shows its allowed values." for field in page["fields"]]
    parts += [f"`check` reports it as `{rule['rule']}` ({rule['code']})." for rule in page["rules"]]
    return "\n\n".join(parts) + "\n"
