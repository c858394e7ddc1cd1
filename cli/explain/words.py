"""What the API server and kubectl say around our webhooks, and what it means; our own sentences are found by the rules that say them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from dynamo_webhooks.cli.check.record import (
    LONG_REMAINDER,
    SCHEMA_RULE,
    UNCONVERTIBLE,
    UNKNOWN_FIELD,
    UNKNOWN_KIND,
    WRONG_TYPE,
    OwnRule,
)

_DOCTOR: Final = "`dynamo-webhooks doctor` names the object concerned and the repair"


class Words(NamedTuple):
    """A piece of a message by which it is known, in any case of letters."""

    name: str
    shown: str  # as people see it, with dots for what varies
    pattern: str
    meaning: str
    remedy: str
    rule: OwnRule | None = None  # the check that finds the same before anything is applied

    @property
    def page(self) -> dict[str, Any]:
        """The page of these words."""
        fields: list[str] = []
        rules = [] if self.rule is None else [{"rule": self.rule.name, "code": self.rule.code, "title": self.rule.title}]
        return {"message": self.name, "words": self.shown, "meaning": self.meaning, "remedy": self.remedy, "rules": rules, "fields": fields}


# between the API server and the webhooks: nothing is wrong with the object
TRANSPORT: Final = (
    Words(
        "unknown-authority",
        "x509: certificate signed by unknown authority",
        r"signed by unknown authority",
        "The API server calls the webhook and does not trust its certificate: a `caBundle` lacks the authority that signed it.",
        f"The provisioner repairs that within seconds while it runs; {_DOCTOR}.",
    ),
    Words(
        "expired",
        "x509: certificate has expired or is not yet valid",
        r"certificate has expired or is not yet valid",
        "The certificate that is served, or its authority, has ended or not begun; or a clock is wrong.",
        "The provisioner renews long before the end, so look whether it runs, and at the clocks of the nodes; one of your own you renew. "
        f"{_DOCTOR}.",
    ),
    Words(
        "wrong-name",
        "x509: certificate is valid for ..., not ...",
        r"certificate is valid for .*, ?not ",
        "The certificate names another Service or namespace than the one that is called.",
        "Give the configuration the names of the installation; a certificate for them is made then. "
        f"One of your own must name SERVICE.NAMESPACE.svc. {_DOCTOR}.",
    ),
    Words(
        "common-name",
        "x509: certificate relies on legacy Common Name field",
        r"relies on legacy Common Name field",
        "The certificate has no names in the place where they are looked for today. Ours always have, so it is somebody else's.",
        "Have it made with subject alternative names, or let the provisioner make one.",
    ),
    Words(
        "other-certificate",
        "x509: ...",
        r"x509: (?!certificate (?:signed by|has expired|is valid for|relies on))",
        "The API server does not accept the certificate that is served, for the reason that stands behind.",
        f"The provisioner makes certificates that it accepts, so look who made this one; {_DOCTOR}.",
    ),
    Words(
        "no-pem",
        "tls: failed to find any PEM data",
        r"failed to find any PEM data",
        "A `caBundle`, or a Secret's certificate, is no certificate, mostly a placeholder that something wrote over ours.",
        f"Find who applies it, often a chart or a GitOps tool, and let it leave that field alone; {_DOCTOR}.",
    ),
    Words(
        "no-server",
        "connect: connection refused; no endpoints available for service ...",
        r"connection refused|no endpoints available for service",
        "No webhook server is ready. If the words name the API server's own address, it is that one which can't be reached.",
        f"Look at the pods behind the Service, and at the reason of `/readyz`; {_DOCTOR}.",
    ),
    Words(
        "deadline",
        "context deadline exceeded",
        r"context deadline exceeded|Client\.Timeout exceeded",
        "The API server waited for the webhook in vain: a firewall or a mesh is between it and port 9443, or the servers are overloaded.",
        f"Open the port from the control plane to the pods, keep meshes off it, or add replicas; {_DOCTOR}.",
    ),
    Words(
        "no-service",
        'service "..." not found',
        r'service "[^"]*" not found',
        "A webhook configuration or a definition calls a Service that is gone, as after an installation was taken away in the wrong order.",
        "Install it again, or take the calls away too; `dynamo-webhooks doctor --uninstall-check` names them in order.",
    ),
    Words(
        "client-certificate",
        "the caller must present a client certificate ...",
        r"must present a client certificate|client certificate must|no authority of client certificates",
        "The server answers admission only to callers with a client certificate (`server.webhook.clientCA`), and the API server has none "
        "that is allowed. Conversion needs none.",
        "Give every API server its certificate, as docs/install.md says, or leave `clientCA` empty.",
    ),
    Words(
        "annotation-too-long",
        "metadata.annotations: Too long: must have at most 262144 bytes",
        r"metadata\.annotations: Too long",
        "A plain `kubectl apply` keeps a copy of the object in an annotation, and this one is too long for that.",
        "Apply it with `kubectl apply --server-side`.",
    ),
    Words(
        "invalid-metadata",
        "conversion webhook ... returned invalid metadata",
        r"returned invalid metadata(?!.*Too long)|conversion webhook .*expected .*objects?",
        "A converter lost an object, or changed its metadata. Ours does neither, so another server answers under its name.",
        f"Look which server the definition calls; {_DOCTOR}.",
    ),
    Words(
        "too-large",
        "request body too large; 413",
        r"body too large|Request entity too large|\b413\b.*(?:too large|too long)|body must be at most",
        "The request is longer than a server takes: by default 7 MiB for an object, 256 MiB for a conversion.",
        "Make the object smaller, or raise `serving.limits` of the configuration where it is a webhook that says so.",
    ),
)

# before and behind our webhooks: the API server itself speaks of the object
SERVER: Final = (
    Words(
        "unknown-kind",
        'no matches for kind "..." in version "..."',
        r"no matches for kind|ensure CRDs are installed first|doesn't have a resource type",
        "The API server has no definition of this kind in this version.",
        "Correct `apiVersion` and `kind`, or `dynamo-webhooks convert` the file; `dynamo-webhooks crds` prints definitions to install.",
        UNKNOWN_KIND,
    ),
    Words(
        "unknown-field",
        'strict decoding error: unknown field "..."; Warning: unknown field "..."',
        r"unknown field\b",
        "The kind has no such field. A strict request is refused for it; any other loses what the field was meant to say.",
        "Correct the name or take the field away; `dynamo-webhooks check` names the nearest field and its line.",
        UNKNOWN_FIELD,
    ),
    Words(
        "wrong-type",
        "... can't be read as ...; in body must be of type ...",
        r"can't be read as|cannot be handled as a|in body must be of type|cannot unmarshal",
        "A value is of another type than its field, such as text where a number is wanted.",
        'Write a value of that type: no quotes around numbers, quotes around text such as `"8"` or `"on"`.',
        WRONG_TYPE,
    ),
    Words(
        "not-whole",
        "must not be written or deleted in this version, which can't hold all that the object says",
        r"must not be written or deleted in this version",
        "The object is too long for this version, which shows it without what doesn't fit, and with a label that says so.",
        "Write or delete it in the version that the message names, as in `kubectl edit dynamographdeployments.v1alpha1.nvidia.com/NAME`.",
        LONG_REMAINDER,
    ),
    Words(
        "stored-too-long",
        "conversion webhook ... returned invalid metadata: ... Too long",
        r"returned invalid metadata:.*Too long",
        "What the version that is stored has no field for is kept in annotations there, and has more text than they may have.",
        "Make the object smaller; `dynamo-webhooks check` names the field that weighs most.",
        LONG_REMAINDER,
    ),
    Words(
        "unconverted",
        "conversion webhook for ... failed: ...",
        r"conversion webhook for .* failed",
        "The object could not be converted between v1alpha1 and v1beta1, so it could be neither stored nor shown.",
        "If it is an object's mistake, the words behind tell the field; if no server could be asked, they tell why.",
        UNCONVERTIBLE,
    ),
    Words(
        "conflict",
        "the object has been modified; please apply your changes to the latest version",
        r"the object has been modified",
        "Somebody else changed the object after it was read. No webhook says this.",
        "Read it again and repeat the change; `kubectl apply` does so by itself.",
    ),
    Words(
        "schema-mismatch",
        "Required value, Unsupported value, Too many, in body should ...",
        r"\bin body should\b|Unsupported value|Required value|Too many:|Duplicate value|(?<!metadata.annotation: )Too long:",
        "A value that the schema of the definition does not allow. The API server says so itself, before validating webhooks are asked.",
        "Write one of the values that it allows; `dynamo-webhooks explain` with the field's path tells which.",
        SCHEMA_RULE,
    ),
    Words(
        "definition-guarded",
        "ValidatingAdmissionPolicy '...-definitions' ... denied request: ...",
        r"ValidatingAdmissionPolicy '[^']*-definitions'",
        "A CustomResourceDefinition of ours was to be updated so that objects would lose fields, with the API server reporting success.",
        "Apply the definitions that `dynamo-webhooks crds` prints. To lose data on purpose, see certificates.md.",
    ),
    Words(
        "rules-not-checked",
        "some validation rules were not checked because the object was invalid",
        r"some validation rules were not checked",
        "No mistake of its own: the schema's rules wait until the other errors are mended.",
        "Mend those first; others may follow. `dynamo-webhooks check` lists what it can see of both at once.",
    ),
)

# what our servers say of themselves
OURS: Final = (
    Words(
        "fact-missing",
        "could not be judged: the fact ... is not known",
        r"could not be judged: the fact \w+ is not known",
        "A rule needs to know something of the cluster, and the server does not; it refuses because it must not guess.",
        "Give the server the fact with `--facts`, or let it watch the cluster. For `check`: `--set-fact NAME=VALUE`.",
    ),
    Words(
        "fault",
        "could not be judged: rule ... failed with ...",
        r"could not be judged: rule \S+ failed",
        "A rule of ours raised. That is a bug of ours and says nothing about the object.",
        "Report it with the object; `dynamo-webhooks check` with the same file prints a command that replays it.",
    ),
    Words(
        "busy",
        "the body must arrive within ...; within ... there was no room",
        r"the body must arrive within|seconds there was no room",
        "The server was busy, or the way to it slow: a request took too long to come in, or waited too long for its turn.",
        "Repeat it. If it comes back, add replicas, or raise `serving.limits`; the metrics tell which limit it was.",
    ),
    Words(
        "no-review",
        "the body must be of kind AdmissionReview; request must be an object",
        r"the body must be (?:of kind \w+Review|JSON)|request must be an object|request\.uid must be text",
        "Something posted to the webhook what is no review, so it is no API server; or a registration names the wrong path.",
        "Look at the path in the webhook configuration; `dynamo-webhooks review FILE` answers a recorded review.",
    ),
    Words(
        "not-called",
        "failed calling webhook ...",
        r"failed calling webhook|failed to call webhook",
        "The API server could not get an answer from the webhook; the words behind tell why. The object was not judged.",
        f"{_DOCTOR}.",
    ),
)
TABLES: Final = (TRANSPORT, SERVER, OURS)
OF_FIELDS: Final = tuple(entry for entry in SERVER if entry.rule in (SCHEMA_RULE, WRONG_TYPE))  # whose fields are worth a look


def in_message(text: str) -> Iterator[Words]:
    """The known words of a message; those of the transport alone, where it has any, because the object wasn't judged then."""
    for table in TABLES:
        found = [words for words in table if re.search(words.pattern, text, re.IGNORECASE | re.DOTALL)]
        yield from found
        if found and table is TRANSPORT:
            return


def markdown(page: dict[str, Any]) -> str:
    """The page for people."""
    parts = [f"# {page['words']}", page["meaning"], f"**Fix.** {page['remedy']}"]
    parts += [f"`dynamo-webhooks explain '{field}'` tells what it may be." for field in page["fields"]]
    parts += [f"`check` finds it beforehand as `{rule['rule']}` ({rule['code']})." for rule in page["rules"]]
    return "\n\n".join(parts) + "\n"
