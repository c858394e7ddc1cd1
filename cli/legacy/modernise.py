"""Writes a document of the first releases as today's object, with a note on every field that does not stay as it is."""

import copy
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from ...api.decode import decoder
from ...api.kinds import ALPHA
from ...api.paths import MISSING, Key, Path, format_path, lookup
from ...api.schema import whole_schema
from ...api.walk.prune import prune
from ...api.wording import shorten
from ...conversion.lens.protocol import ConversionError
from .recognise import BUILDS, TODAY, recognise

MAPPED: Final = "mapped"
NO_EQUIVALENT: Final = "no equivalent"
DECIDE: Final = "you must decide"
_OUTCOMES: Final = (MAPPED, NO_EQUIVALENT, DECIDE)
_MAX_NAMED_FIELDS: Final = 3  # in one sentence, before it counts the others
_MAX_PATH_CHARACTERS: Final = 300  # map keys come from authors
_MAIN: Final = ("extraPodSpec", "mainContainer")
_IMAGE: Final = "names a build of the old operator: build and push the image, and set extraPodSpec.mainContainer.image of each component"
_BUILT: Final = (
    DECIDE,
    "set extraPodSpec.mainContainer.image of the components that ran it; done in documents of the same run that name it",
)
_SETTING: Final = (NO_EQUIVALENT, "a setting of image builds, which are made outside the cluster")
_PLACED: Final = (NO_EQUIVALENT, "set by the API server on the new object")
_METADATA: Final = {
    **dict.fromkeys(("uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"), _PLACED),
    **dict.fromkeys(("deletionTimestamp", "deletionGracePeriodSeconds"), _PLACED),
    "finalizers": (NO_EQUIVALENT, "set by the old operator; nothing would remove it"),
    "ownerReferences": (NO_EQUIVALENT, "names an old object, with which this one would be deleted"),
}
_ANNOTATIONS: Final = {
    "kubectl.kubernetes.io/last-applied-configuration": (NO_EQUIVALENT, "a copy of the old object; kubectl writes a new one")
}
_REFERENCES: Final = ("dynamoComponent", "dynamoNim")  # fields of `spec` that name the build of an image
# fields of a component, in its own object or in a graph's services, with what becomes of them
_COMPONENT: Final = {
    "dynamoNamespace": (NO_EQUIVALENT, "follows from the graph's namespace and name"),
    "dynamoTag": (DECIDE, "names the class that ran: set extraPodSpec.mainContainer.command and args, such as python3 -m dynamo.vllm"),
    "externalServices": (NO_EQUIVALENT, "components of one graph find each other: make them services of the same graph"),
    "autoscaling": (NO_EQUIVALENT, "has no effect: set scalingAdapter.enabled, and scale the adapter with a HorizontalPodAutoscaler"),
}
_CLAIM: Final = ("create", "size", "storageClass", "volumeAccessMode")
_ALONE: Final = (DECIDE, "standalone components create no claims: create it beforehand")
_INCOMPLETE: Final = (
    "was made by the old operator; today's makes a claim only with size, storageClass and volumeAccessMode: complete spec.pvcs[] and "
    "set create there, or make the claim beforehand"
)


class FieldNote(NamedTuple):
    """A field that changed between the document and the object. `to` is its new path, empty if it has none."""

    field: Path
    outcome: str  # MAPPED, NO_EQUIVALENT or DECIDE
    text: str
    to: Path = ()


class ModernisedObject(NamedTuple):
    """A document of the first releases as a v1alpha1 object, or None for an image build. Fields without a note keep place and value."""

    kind: str
    name: str
    object: dict[str, Any] | None
    notes: tuple[FieldNote, ...]

    def lines(self) -> list[str]:
        """Formats the notes, one line for each sentence with the fields it is true of; decisions come last."""
        groups: dict[tuple[str, str], list[str]] = {}
        for note in sorted(self.notes, key=lambda note: _OUTCOMES.index(note.outcome)):
            text = "; ".join(filter(None, (f"becomes {_format_path(note.to)}" if note.to else "", note.text)))
            groups.setdefault((note.outcome, text), []).append(_format_path(note.field))
        becomes = f"{self.object['kind']} of v1alpha1" if self.object else "no object: images are built outside the cluster"
        lines = [f"{f'{self.kind} {self.name}'.rstrip()} (a kind of the first releases) becomes {becomes}"]
        for (outcome, text), fields in groups.items():
            more = f" and {len(fields) - _MAX_NAMED_FIELDS} more" if len(fields) > _MAX_NAMED_FIELDS else ""
            lines.append(f"  {outcome}: {', '.join(fields[:_MAX_NAMED_FIELDS])}{more}: {text}")
        return lines


def _format_path(path: Path) -> str:
    return shorten(format_path(path), _MAX_PATH_CHARACTERS)


def modernise(data: dict[str, Any], others: Iterable[object] = ()) -> ModernisedObject:
    """The object that a `recognised` document is today; `others` of its run may name images. Raises: ConversionError for wrong types."""
    kind = recognise(data) or ""
    parts = (lookup(data, ("metadata", "namespace")), lookup(data, ("metadata", "name")))
    name = "/".join(part for part in parts if isinstance(part, str) and part)
    if not TODAY[kind]:
        spec = data["spec"] if isinstance(data.get("spec"), dict) else {}
        notes = [FieldNote(("spec", key), *(_BUILT if key == "image" else _SETTING)) for key in spec]
        return ModernisedObject(kind, name, None, tuple(notes))
    made = _Object({**copy.deepcopy(data), "kind": TODAY[kind]})
    made.modernise(others)
    return ModernisedObject(kind, name, made.object, tuple(made.notes))


class _Object:
    """A copy of a legacy object; each step moves or removes fields and notes them."""

    def __init__(self, obj: dict[str, Any]) -> None:
        self.object = obj
        self.notes: list[FieldNote] = []
        self._leave_out(obj, (), {"status": (NO_EQUIVALENT, "written by the operator")})
        for error in decoder(obj["kind"], ALPHA)(obj):
            raise ConversionError(error.path, error.message)
        self.spec: dict[str, Any] = _child(obj, "spec")
        self.alone = obj["kind"] == TODAY["DynamoNimDeployment"]
        services = self.spec.get("services") or {}
        components = [(("spec", "services", Key(name)), _child(services, name)) for name in services]
        self.components: list[tuple[Path, dict[str, Any]]] = [(("spec",), self.spec)] if self.alone else [*components]

    def modernise(self, others: Iterable[object]) -> None:
        """Takes all steps; `others` are documents that may name images."""
        metadata = self.object.get("metadata") or {}
        self._leave_out(metadata, ("metadata",), _METADATA)
        self._leave_out(metadata.get("annotations") or {}, ("metadata", "annotations"), _ANNOTATIONS)
        blocks: dict[str, Path] = {}  # names of claims, each with the block that named it first
        for path, component in self.components:
            if component.get("dynamoNamespace") == "dynamo":  # the Dynamo namespace of all components with globalDynamoNamespace
                component["globalDynamoNamespace"] = bool(component.pop("dynamoNamespace"))
                self._note((*path, "dynamoNamespace"), MAPPED, "", (*path, "globalDynamoNamespace"))
            self._leave_out(component, path, _COMPONENT)
            if block := component.pop("pvc", None):
                self._move_claim(block, path, component, blocks)
        self._finish_claims(blocks)
        for reference in (key for key in _REFERENCES if key in self.spec):
            self._use_image(_image_of(self.spec.pop(reference), metadata.get("namespace"), others), ("spec", reference))
        for path in prune(self.object, whole_schema(self.object["kind"], ALPHA)):
            self._note(path, NO_EQUIVALENT, "no field today")
        self._name_needs()

    def _note(self, field: Path, outcome: str, text: str, to: Path = ()) -> None:
        self.notes.append(FieldNote(field, outcome, text, to))

    def _leave_out(self, block: dict[str, Any], path: Path, old: dict[str, tuple[str, str]]) -> None:
        for key in [key for key in block if key in old]:
            del block[key]
            self._note((*path, Key(key) if "/" in key else key), *old[key])

    def _move_claim(self, block: object, path: Path, component: dict[str, Any], blocks: dict[str, Path]) -> None:
        """Splits a `pvc` block into a mount of the component and a claim of the graph; a standalone component has only mounts."""
        source = (*path, "pvc")
        name = block.get("name") if isinstance(block, dict) else None
        if not isinstance(block, dict) or not isinstance(name, str) or not name:
            self._note(source, DECIDE, "must be an object with a name (a string) before it can be mounted; nothing of it is mapped")
            return
        mounts = component["volumeMounts"] = component.get("volumeMounts") or []
        mount_path: Path = (*path, "volumeMounts", len(mounts))
        mount: dict[str, Any] = {"name": name}
        mounts.append(mount)
        claim, claim_path = (mount, mount_path) if self.alone else self._claim(name)
        self._note((*source, "name"), MAPPED, "the claim must exist beforehand" if self.alone else "", (*claim_path, "name"))
        blocks.setdefault(name, source)
        places: dict[str, tuple[dict[str, Any], Path]] = {} if self.alone else {key: (claim, (*claim_path, key)) for key in _CLAIM}
        places |= dict.fromkeys(("mountPath", "mountPoint"), (mount, (*mount_path, "mountPoint")))
        for key in [key for key in block if key != "name"]:
            into, to = places.get(key, ({}, ()))
            if not to:
                self._note((*source, key), *(_ALONE if key in _CLAIM else (NO_EQUIVALENT, "no field of a claim today")))
            elif into.setdefault(str(to[-1]), block[key]) == block[key]:
                self._note((*source, key), MAPPED, "", to)
            else:
                self._note((*source, key), DECIDE, "differs from another component's value for the same claim; it is left out")
        if not mount.get("mountPoint"):
            self._note(source, DECIDE, "must have a mount point: set volumeMounts[].mountPoint")

    def _claim(self, name: str) -> tuple[dict[str, Any], Path]:
        """Finds the claim of the graph with that name, or adds one."""
        claims: list[dict[str, Any]] = self.spec.get("pvcs") or []
        self.spec["pvcs"] = claims
        index = next((index for index, claim in enumerate(claims) if claim and claim.get("name") == name), len(claims))
        if index == len(claims):
            claims.append({"name": name})
        return claims[index], ("spec", "pvcs", index)

    def _finish_claims(self, blocks: dict[str, Path]) -> None:
        """Sets `create` on moved claims that are complete, unless it is false; leaves the others to a person."""
        for index, claim in enumerate([] if self.alone else self.spec.get("pvcs") or []):
            if not claim or claim.get("name") not in blocks or claim.get("create") is False:
                continue
            if all(key in claim for key in _CLAIM[1:]):
                claim["create"] = True
                continue
            claim.pop("create", None)
            self.notes = [note for note in self.notes if note.to != ("spec", "pvcs", index, "create")]
            self._note(blocks[claim["name"]], DECIDE, _INCOMPLETE)

    def _use_image(self, image: str | None, field: Path) -> None:
        """Gives the image of a build to the components that name none."""
        without = [(path, component) for path, component in self.components if _lacks(component, "image")]
        if self.components and not without:
            self._note(field, NO_EQUIVALENT, "not needed: every component names its image")
        elif image is None or not without:
            self._note(field, DECIDE, _IMAGE)
        else:
            for path, component in without:
                _child(_child(component, _MAIN[0]), _MAIN[1])["image"] = image
                self._note(field, MAPPED, "the image of the build", (*path, *_MAIN, "image"))

    def _name_needs(self) -> None:
        """Notes what a component needs today and the document does not hold; the build held it."""
        if not self.components:
            self._note(("spec", "services"), DECIDE, "must describe the components: the old operator took them from the build")
        for path, component in self.components:
            lacking = [] if component.get("componentType") else ["componentType (such as frontend or worker)"]
            lacking += [".".join((*_MAIN, name)) for name in ("image", "command") if _lacks(component, name)]
            if lacking:
                self._note(path, DECIDE, f"must have what the build held: {', '.join(lacking)}")


def _child(block: dict[str, Any], key: str) -> dict[str, Any]:
    """Returns a block of a well-typed object, added where it is absent or null."""
    child: dict[str, Any] = block.get(key) or {}
    block[key] = child
    return child


def _lacks(component: dict[str, Any], name: str) -> bool:
    """Whether a component's main container lacks a field."""
    return lookup(component, (*_MAIN, name)) in (MISSING, None, "", [])


def _image_of(reference: object, namespace: object, others: Iterable[object]) -> str | None:
    """Returns the image of the build that a reference names; None when no document has it, or several have different ones."""
    images = set()
    for other in others:
        image, name, build = (lookup(other, path) for path in (("spec", "image"), ("metadata", "name"), ("spec", "dynamoComponent")))
        same = lookup(other, ("metadata", "namespace")) in (namespace, MISSING if namespace is None else namespace)
        # builds are called `name:tag` in fields and `name--tag` as objects
        named = str(reference).replace(":", "--") in [str(value).replace(":", "--") for value in (name, build)]
        if recognise(other) in BUILDS and same and named and isinstance(image, str) and image:
            images.add(image)
    return images.pop() if len(images) == 1 else None
