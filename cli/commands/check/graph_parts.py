"""Parts of a picture: components with their pods, GPUs, claims and Services, and the effect of a change on each."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ....api.line import Line
from ....api.wording import count_of, escape_unprintable, shorten
from ....conversion.lens.protocol import Fields
from ....reconciler.render.errors import RenderError
from ....reconciler.render.framework import main_of
from ....reconciler.render.gms import gpu_count
from ....reconciler.render.graph import INTER_POD, NEW, Member, convert_for_render, experimental, read_graph
from ....reconciler.render.merge import object_items
from ....reconciler.render.names import EPP, PLANNER, WORKERS, lower_name
from ...objects.pairs import Placed, pair_up
from ..render.pods import find_restarts
from ..render.run import Child, Outcome, format_problem

KINDS: Final = ("DynamoGraphDeployment", "DynamoComponentDeployment")
ADDED: Final = "added"
REMOVED: Final = "removed"
RESTARTS: Final = "restarts"
SCALES: Final = "scales"
MAX_COMPONENTS: Final = 100  # that are drawn; the schema admits 25
ENTRY: Final = ("frontend", EPP)
_CLIQUE: Final = "cliques["
_MAX_TEXT_CHARACTERS: Final = 60
_VERSION: Final = 200  # of an image's tag and digest, which registries bound to 128 and 71
_MIN_REPOSITORY_CHARACTERS: Final = 12


class Part(NamedTuple):
    """One component."""

    name: str
    type: str  # empty for the default type
    replicas: int
    nodes: int  # of one replica, a pod each
    gpus: int  # of one pod
    shared: str  # IntraPod or InterPod where engines share GPUs through the memory service
    standby: int  # engines that wait for the failure of one: in its pod, or with InterPod in pods beside it
    adapter: bool  # whether autoscalers may change its replicas
    services: tuple[str, ...]
    claims: tuple[str, ...]
    image: str
    change: str = ""  # ADDED, REMOVED, RESTARTS, SCALES

    @property
    def pods(self) -> int:
        """The pods of all replicas: one a node, or there the engines and the memory service."""
        return self.ranks * (2 + self.standby if self.apart else 1)

    @property
    def ranks(self) -> int:
        """The nodes of all replicas."""
        return self.replicas * self.nodes

    @property
    def apart(self) -> bool:
        """Whether engines that share GPUs run in pods of their own."""
        return self.shared == INTER_POD

    @property
    def is_worker(self) -> bool:
        """Whether it serves a model."""
        return self.type in WORKERS

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes beside name, type, size, claims and image, one a line."""
        return (
            *([f"GPUs shared {'by the pods of a node' if self.apart else 'in the pod'}"] if self.shared else ()),
            *([f"{count_of(self.standby, 'standby engine')} a {'node' if self.apart else 'pod'}"] if self.standby else ()),
            *(["scaling adapter"] if self.adapter else ()),
            *(f"Service {name}" for name in self.services),
        )

    @property
    def size(self) -> str:
        """Number of replicas, nodes and GPUs, as text."""
        nodes = f" of {count_of(self.nodes, 'node')}" if self.nodes > 1 else ""
        gpus = f", {count_of(self.gpus * self.ranks, 'GPU')}" if self.gpus else ""
        return f"{count_of(self.replicas, 'replica')}{nodes}{gpus}"


class Picture(NamedTuple):
    """One graph, or one component without a graph."""

    kind: str
    name: str
    namespace: str
    parts: tuple[Part, ...]

    @property
    def title(self) -> str:
        """Its title, and the sums of pods and GPUs after a change."""
        there = [part for part in self.parts if part.change != REMOVED]
        pods, gpus = sum(part.pods for part in there), sum(part.ranks * part.gpus for part in there)
        counts = f"{count_of(len(there), 'component')}, {count_of(pods, 'pod')}, {count_of(gpus, 'GPU')}"
        return f"{self.kind} {self.namespace}/{self.name}: {counts}"

    def flows(self) -> Iterator[tuple[int, int, str]]:
        """Arrows between parts, by index, with their purpose: requests, KV cache, or scaling.

        Costs as much as entries and planners times workers, of MOST components.
        """
        for index, part in enumerate(self.parts):
            for other, worker in enumerate(self.parts):
                if not worker.is_worker or index == other:
                    continue
                if part.type in ENTRY:
                    yield index, other, ""
                elif part.type == "prefill" and worker.type == "decode":
                    yield index, other, "KV cache"
                elif part.type == PLANNER and worker.adapter:
                    yield index, other, "scales"


class Drawn(NamedTuple):
    """One object's picture, and the children that it was made beside."""

    file: str
    picture: Picture
    children: list[Fields]

    @property
    def identity(self) -> tuple[str, str, str]:
        """The identity of the graph."""
        return self.picture.kind, self.picture.namespace, self.picture.name


def picture(obj: Fields, children: list[Fields], line: Line) -> Picture:
    """Make the picture of an object of either version from its rendered children.

    Raises: RenderError for an object that can't be read, or has more than MOST components.
    """
    kind = str(obj.get("kind"))
    if kind == "DynamoGraphDeployment":
        graph = read_graph(obj, line)
        name, namespace, members = graph.name, graph.namespace, [*graph.members, *graph.idle]
        if len(members) > MAX_COMPONENTS:
            raise RenderError(("spec", "components"), f"must be at most {MAX_COMPONENTS} to be drawn, got {len(members)}")
    else:
        new = convert_for_render(obj, NEW._replace(line=line))
        metadata, spec = new.get("metadata") or {}, new.get("spec") or {}
        name, namespace = str(metadata.get("name") or ""), str(metadata.get("namespace") or "default")
        member = Member(str(spec.get("name") or name), str(spec.get("type") or ""), spec, {}, ("spec",), "")
        members = [member]
    services = _services(children, name, [member.name for member in members])
    return Picture(kind, text(name), text(namespace), tuple(_part(member, services.get(member.name, ())) for member in members))


def _marked(old: Drawn | None, new: Drawn | None) -> Picture | None:
    """The new picture with what the change does to each component, by the children of both sides, and with those that it removes."""
    was = {part.name: part for part in old.picture.parts} if old else {}
    gone = [part._replace(change=REMOVED) for part in was.values()]
    if new is None:
        return old and old.picture._replace(parts=tuple(gone))
    there = {part.name for part in new.picture.parts}
    restarted = _restarted(old.children if old else [], new.children, new.picture.name, [*was, *there])

    def change(part: Part) -> str:
        if part.name not in was:
            return ADDED
        return RESTARTS if part.name in restarted else SCALES if part.replicas != was[part.name].replicas else ""

    parts = [part._replace(change=change(part)) for part in new.picture.parts]
    return new.picture._replace(parts=(*parts, *(part for part in gone if part.name not in there)))


def text(value: object) -> str:
    """A text of a manifest as pictures show it: one short line."""
    return shorten(escape_unprintable(str(value)), _MAX_TEXT_CHARACTERS)


def _shorten_image(image: str) -> str:
    """An image as a short text, longer only by what tag and digest take: they are what changes."""
    name, at, digest = image.partition("@")
    repository, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:  # the colon of a port
        repository, colon, tag = name, "", ""
    version = shorten(f"{colon}{tag}{at}{digest}", _VERSION)
    room = max(_MAX_TEXT_CHARACTERS - len(version), _MIN_REPOSITORY_CHARACTERS)
    return (repository if len(repository) <= room else f"\N{HORIZONTAL ELLIPSIS}{repository[1 - room :]}") + version


def _part(member: Member, services: Iterable[str]) -> Part:
    fields = member.fields
    failover = experimental(fields, "failover")
    shared = experimental(fields, "gpuMemoryService")
    replicas = fields.get("replicas")
    return Part(
        text(member.name),
        text(member.type),
        1 if replicas is None else max(replicas, 0),
        member.nodes,
        _gpus(member),
        "" if shared is None else str(shared.get("mode") or "IntraPod"),
        0 if failover is None else max(int(failover.get("numShadows") or 1), 1),
        fields.get("scalingAdapter") is not None,
        tuple(map(text, services)),
        tuple(map(text, dict.fromkeys(_claims(fields)))),
        _shorten_image(escape_unprintable(str(main_of(fields).get("image") or ""))),
    )


def _gpus(member: Member) -> int:
    try:
        return gpu_count(member.fields, member.path)
    except RenderError:  # a fraction of a GPU, which rendering reports if it is a mistake
        return 0


def _claims(component: Fields) -> Iterator[str]:
    template = component.get("podTemplate") or {}
    for volume in object_items((template.get("spec") or {}).get("volumes")):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim:
            yield str(claim)


def _services(children: Iterable[Fields], graph: str, names: list[str]) -> dict[str, list[str]]:
    services: dict[str, list[str]] = {}
    for child in children:
        if child.get("kind") == "Service":
            name = str(child["metadata"]["name"])
            services.setdefault(_owner(name.removeprefix(f"{graph}-"), names), []).append(name)
    return services


def _owner(name: str, parts: Iterable[str]) -> str:
    """The component that a child's name, without the graph's, begins with: the longest one; empty for none."""
    return max((part for part in parts if f"{name}-".startswith(f"{lower_name(part)}-")), key=len, default="")


def _restarted(before: list[Fields], after: list[Fields], graph: str, names: list[str]) -> set[str]:
    """The components whose pods restart, by controllers' names, and on Grove by those of cliques."""
    components: set[str] = set()
    for restart in find_restarts(*([Child("", child) for child in side] for side in (before, after))):
        if restart.what == "restart":
            cliques = [reason[len(_CLIQUE) :].partition("]")[0] for reason in restart.reasons if reason.startswith(_CLIQUE)]
            components.update(_owner(name, names) for name in cliques or [restart.name.removeprefix(f"{graph}-")])
    return components


def draw(rendered: Outcome) -> tuple[list[Drawn], list[str]]:
    """The pictures of all graphs in a rendered text, in order, and problems; children that can't be rendered are left out."""
    drawn: list[Drawn] = []
    problems: list[str] = []
    for graph in rendered.made:
        if graph.found.identity.kind not in KINDS or not graph.found.known:
            continue
        if graph.object is None:
            problems += graph.problems
            continue
        try:
            drawn.append(Drawn(graph.found.document.source.name, picture(graph.object, graph.children, graph.line), graph.children))
        except RenderError as error:
            problems.append(format_problem(graph.found, error.path, error.reason))
    return drawn, problems


def pair_pictures(before: list[Drawn], after: list[Drawn]) -> list[Picture]:
    """The pictures of both sides, paired by kind, namespace and name, with what the change does; those that are gone come last."""
    sides = ([Placed(graph.file, graph.identity, graph) for graph in side] for side in (before, after))
    made = (_marked(was and was.value, now and now.value) for was, now in pair_up(*sides))
    return [picture for picture in made if picture is not None]
