"""What damaged reviews hold: values of every type where another belongs, and what only a text of JSON can say."""

from typing import Any, Final

VALUES: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 2147483648, -9223372036854775808, 18446744073709551615, 0.5, -0.0, 1e308, 5e-324),
    *("", " ", "0", "true", "null", "x", "main", "-1", "1.5Gi", "99999999999999999999999Ei", "1e999999999", "0x1F", "1_000", "９"),
    *("../../etc", "$(id)", "%s%n", "{{.x}}", "\x00", "\x1b[31m", "\u2028", "\ufeff", "\u202etxt", "e\u0301", "\U0001f600", "a\nb", "İıſK"),
    *("2026-01-01T00:00:00Z", "2026-13-41T99:99:99Z", "PT1S", "1h", "-1h", "9999999h", "nvidia.com/v1", "nvidia.com/v1beta1", "v1"),
    *({}, [], {"": None}, [None], [[]], [{}], {"a": {}}, {"name": None}, [{"name": "main"}, {"name": "main"}], {"name": "main", "x": [1]}),
    *({"metadata": None, "spec": None, "status": None}, {"spec": {"containers": [None]}}, {"limits": {"gpu": "-0"}}, ["a", 1, None, {}]),
)
KEYS: Final = (
    *("", " ", "name", "Name", "NAME", "spec", "metadata", "__proto__", "__class__", "a.b/c~d~0~1", "main", "nil", "kept", "version"),
    *("\x00", "\u2028", "\ufeffspec", "ſpec", "spec\u0301", "\U0001f600", "a" * 300, "services", "components", "0", "-"),
)
# texts of JSON values that no tree of Python says, or not so
RAW: Final = (
    *(b"-0", b"1.0", b"1E0", b"1e5", b"1e400", b"-1e400", b"1e-400", b"0.1e-999999", b"9" * 100, b"-" + b"9" * 400, b"0." + b"3" * 500),
    *(b"18446744073709551616", b"9223372036854775808.0", b"1" + b"0" * 308, b"2147483647.0", b"01", b"+1", b".5", b"1.", b"0x1", b"NaN"),
    *(rb'"\ud800"', rb'"\udc00\ud800"', rb'"a\ud83dz"', rb'"\ud83d\ude00"', rb'"\u0000"', rb'"\/\b\f"', b'"\x80"', b'"\xed\xa0\x80"'),
    *(b'"\xff\xfe"', b'"\t"', b"'x'", b'"\\x41"', b"tru", b"True", b"undefined", b"", b"/**/1", b"Infinity", b"[1,]", b'{"a":1,}'),
    *(b'{"a":1,"a":null}', b"{1:2}", b'{"a"}'),
)
DEPTHS: Final = (60, 250, 254, 255, 256, 400, 900, 1_010, 1_024, 5_000, 100_000)
OPERATIONS: Final[tuple[Any, ...]] = (*("CREATE", "UPDATE", "DELETE", "CONNECT", "create", "", "PATCH", " UPDATE"), None, 1, [], {}, True)
