"""The functions of the language with the types that they take and return, and since which release Kubernetes has them."""

from __future__ import annotations

from typing import Final

SPACES: Final = ("format", "ip", "optional", "sets", "strings")  # names before the point of a function that isn't called on a value
_BASIC: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED: Final = ("int", "uint", "double", "duration")
_FORMATS: Final = (
    "dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri"
    " uuid byte date datetime"
)
_CONVERSIONS: Final = {
    "bool": "bool string",
    "bytes": "bytes string",
    "double": "double int string uint",
    "int": "int double duration string timestamp uint",
    "string": "string bool bytes double duration int timestamp uint IP CIDR",
    "uint": "uint double int string",
    "timestamp": "timestamp int string",
    "duration": "duration int string",
}
_IN_ZONE: Final = "FullYear Month DayOfYear DayOfMonth Date DayOfWeek"
_OF_TIMES: Final = "Hours Minutes Seconds Milliseconds"


def _converting(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}({given}) -> {name}" for name in names for given in _CONVERSIONS[name].split())


def _comparing(kind: str) -> tuple[str, ...]:
    return f"{kind}.isGreaterThan({kind}) -> bool", f"{kind}.isLessThan({kind}) -> bool", f"{kind}.compareTo({kind}) -> int"


# name of a type here -> its name in the language
NAMES: Final = {
    "IP": "net.IP",
    "CIDR": "net.CIDR",
    "Format": "kubernetes.NamedFormat",
    "optional": "optional_type",
    **{name: f"kubernetes.{name}" for name in ("Quantity", "URL", "Semver")},
    **{name: f"kubernetes.authorization.{name}" for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")},
}
# module -> signatures; `overloads` imports the module when one of its names is used
DECLARED: Final[dict[str, tuple[str, ...]]] = {
    "conversions": (
        *_converting("bool", "bytes", "double", "int", "string", "uint"),
        *("dyn(A) -> dyn", "type(A) -> type(A)"),
        *("size(bytes) -> int", "size(list(A)) -> int", "size(map(A, B)) -> int", "size(string) -> int"),
        *("bytes.size() -> int", "list(A).size() -> int", "map(A, B).size() -> int", "string.size() -> int"),
    ),
    "formats": (
        *(f"format.{name}() -> Format" for name in _FORMATS.split()),
        *("format.named(string) -> optional(Format)", "Format.validate(string) -> optional(list(string))"),
    ),
    "formatting": ("string.format(list(dyn)) -> string", "strings.quote(string) -> string"),
    "lists": (
        *(f"list({kind}).isSorted() -> bool" for kind in _BASIC),
        *(f"list({kind}).sum() -> {kind}" for kind in _SUMMED),
        *(f"list({kind}).{name}() -> {kind}" for name in ("max", "min") for kind in _BASIC),
        *("list(A).indexOf(A) -> int", "list(A).lastIndexOf(A) -> int"),
        *("list(string).join() -> string", "list(string).join(string) -> string"),
        *(f"sets.{name}(list(A), list(A)) -> bool" for name in ("contains", "equivalent", "intersects")),
    ),
    "network": (
        *("ip(string) -> IP", "isIP(string) -> bool", "ip.isCanonical(string) -> bool", "IP.family() -> int"),
        *(f"IP.is{name}() -> bool" for name in "Unspecified Loopback LinkLocalMulticast LinkLocalUnicast GlobalUnicast".split()),  # noqa: SIM905
        *("cidr(string) -> CIDR", "isCIDR(string) -> bool", "CIDR.ip() -> IP", "CIDR.prefixLength() -> int", "CIDR.masked() -> CIDR"),
        *("CIDR.containsIP(string) -> bool", "CIDR.containsIP(IP) -> bool"),
        *("CIDR.containsCIDR(string) -> bool", "CIDR.containsCIDR(CIDR) -> bool"),
    ),
    "optionals": (
        *("optional.of(V) -> optional(V)", "optional.ofNonZeroValue(V) -> optional(V)", "optional.none() -> optional(V)"),
        *("optional(V).value() -> V", "optional(V).hasValue() -> bool", "list(V).first() -> optional(V)", "list(V).last() -> optional(V)"),
        *("optional.unwrap(list(optional(V))) -> list(V)", "list(optional(V)).unwrapOpt() -> list(V)"),
    ),
    "quantities": (
        *("quantity(string) -> Quantity", "isQuantity(string) -> bool", "sign(Quantity) -> int", *_comparing("Quantity")),
        *("Quantity.asApproximateFloat() -> double", "Quantity.asInteger() -> int", "Quantity.isInteger() -> bool"),
        *(f"Quantity.{name}({other}) -> Quantity" for name in ("add", "sub") for other in ("Quantity", "int")),
    ),
    "regexes": (
        *("matches(string, string) -> bool", "string.matches(string) -> bool", "string.find(string) -> string"),
        *("string.findAll(string) -> list(string)", "string.findAll(string, int) -> list(string)"),
    ),
    "semvers": (
        *("semver(string) -> Semver", "semver(string, bool) -> Semver", "isSemver(string) -> bool", "isSemver(string, bool) -> bool"),
        *("Semver.major() -> int", "Semver.minor() -> int", "Semver.patch() -> int", *_comparing("Semver")),
    ),
    "strings": (
        *(f"string.{name}(string) -> bool" for name in ("contains", "endsWith", "startsWith")),
        *(f"string.{name}(string{more}) -> int" for name in ("indexOf", "lastIndexOf") for more in ("", ", int")),
        *(f"string.{name}() -> string" for name in ("lowerAscii", "upperAscii", "trim")),
        *("string.charAt(int) -> string", "string.substring(int) -> string", "string.substring(int, int) -> string"),
        *("string.replace(string, string) -> string", "string.replace(string, string, int) -> string"),
        *("string.split(string) -> list(string)", "string.split(string, int) -> list(string)"),
    ),
    "times": (
        *_converting("timestamp", "duration"),
        *(f"timestamp.get{name}({zone}) -> int" for name in (_IN_ZONE + " " + _OF_TIMES).split() for zone in ("", "string")),
        *(f"duration.get{name}() -> int" for name in _OF_TIMES.split()),
    ),
    "urls": (
        *("url(string) -> URL", "isURL(string) -> bool", "URL.getQuery() -> map(string, list(string))"),
        *(f"URL.get{name}() -> string" for name in ("EscapedPath", "Host", "Hostname", "Port", "Scheme")),
    ),
    "authorization": (
        *("Authorizer.path(string) -> PathCheck", "Authorizer.group(string) -> GroupCheck"),
        *("Authorizer.serviceAccount(string, string) -> Authorizer", "GroupCheck.resource(string) -> ResourceCheck"),
        *(f"ResourceCheck.{name}(string) -> ResourceCheck" for name in "subresource namespace name fieldSelector labelSelector".split()),  # noqa: SIM905
        *("PathCheck.check(string) -> Decision", "ResourceCheck.check(string) -> Decision"),
        *("Decision.errored() -> bool", "Decision.error() -> string", "Decision.allowed() -> bool", "Decision.reason() -> string"),
    ),
}
# the minor release of Kubernetes that accepts them in new expressions, a release after it has them; others are in every supported release
SINCE_MODULE: Final = {"network": 31, "formats": 32, "semvers": 34}
SINCE: Final = {
    **dict.fromkeys(("first", "last", "optional.unwrap", "unwrapOpt"), 33),
    **dict.fromkeys(("fieldSelector", "labelSelector"), 32),
}
SINCE_TWO_VARIABLES: Final = 33  # macros with names for key and value

_CROSSING: Final = ("int", "uint", "double")
_ARITHMETIC: Final = {
    "+": "int uint double string bytes list(A)",
    "-": "int uint double",
    "*": "int uint double",
    "/": "int uint double",
    "%": "int uint",
}
# operators, written as functions
OPERATORS: Final[tuple[str, ...]] = (
    *(f"{sign}({kind}, {kind}) -> {kind}" for sign, kinds in _ARITHMETIC.items() for kind in kinds.split()),
    *(f"{sign}({kind}, {kind}) -> bool" for sign in ("<", "<=", ">", ">=") for kind in _BASIC),
    *(f"{sign}({a}, {b}) -> bool" for sign in ("<", "<=", ">", ">=") for a in _CROSSING for b in _CROSSING if a != b),
    *("+(duration, duration) -> duration", "+(duration, timestamp) -> timestamp", "+(timestamp, duration) -> timestamp"),
    *("-(duration, duration) -> duration", "-(timestamp, duration) -> timestamp", "-(timestamp, timestamp) -> duration"),
    *("==(A, A) -> bool", "!=(A, A) -> bool", "in(A, list(A)) -> bool", "in(A, map(A, B)) -> bool", "?:(bool, A, A) -> A"),
    *("!(bool) -> bool", "neg(int) -> int", "neg(double) -> double"),
    *("[](list(A), int) -> A", "[](map(A, B), A) -> B", "[](optional(list(V)), int) -> optional(V)"),
    *("[](optional(map(K, V)), K) -> optional(V)", "[?](list(V), int) -> optional(V)", "[?](optional(list(V)), int) -> optional(V)"),
    *("[?](map(K, V), K) -> optional(V)", "[?](optional(map(K, V)), K) -> optional(V)"),
    *("insert(map(K, V), K, V) -> map(K, V)", "insert(map(K, V), map(K, V)) -> map(K, V)"),
    *("optional(V).or(optional(V)) -> optional(V)", "optional(V).orValue(V) -> V"),
)


def split(signature: str) -> tuple[str, bool, str, str]:
    """The name of a function, whether it is called on a value, the types that it takes, and the one that it returns."""
    head, _, result = signature.rpartition(") -> ")
    at = head.rfind("(")
    while head.count(")", at) >= head.count("(", at):
        at = head.rfind("(", 0, at)
    called, given = head[:at], head[at + 1 :]
    of, _, name = called.rpartition(".")
    if not of or of in SPACES:
        return called, False, given, result
    return name, True, f"{of}, {given}" if given else of, result
