"""What a case says about values: JSON paths, comparisons and {variables}. No processes here."""
import json
import os
import re

VARIABLE = re.compile(r"(?<!\$)\{([A-Za-z_][\w-]*(?:\.[\w-]+|\[-?\d+\])*)\}")
OPERATOR = re.compile(r"\s(==|!=|<=|>=|<|>|~|!~|contains|lacks|within|exists|missing)(?=\s|$)")
STEP = re.compile(r"""\.(?P<key>[A-Za-z_$][\w$-]*)
                    | \[(?P<index>-?\d+)\]
                    | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]
                    | (?P<each>\[\*\])
                    | \[\?(?P<field>[\w.$-]+)\s*(?P<op>==|!=|<=|>=|<|>|~)\s*(?P<wanted>(?:"(?:[^"\\]|\\.)*"|[^\]])+)\]""", re.VERBOSE)


MOST_IN_ENVIRONMENT = 64 * 1024  # characters of a variable that a shell gets; the kernel takes 128 KiB


class CaseError(Exception):
    """The case itself is wrong, or what it expects did not come true."""


class Missing:
    """What a path leads to when there is nothing."""

    def __init__(self, where):
        self.where = where


class Selection(list):
    """The elements that [?key==value] chose: .length counts them, .key and comparisons take the first."""


def _step(value, match):
    if match["field"]:
        wanted = literal(match["wanted"])
        return Selection(item for item in value if compare(follow(item, "." + match["field"]), match["op"], wanted))
    if match["each"]:
        return list(value)
    if match["index"]:
        return value[int(match["index"])]
    key = json.loads(match["quoted"]) if match["quoted"] else match["key"]
    if key == "length" and not (isinstance(value, dict) and "length" in value):
        return len(value)
    if isinstance(value, Selection):
        value = value[0]
    return value[key]


def follow(value, path):
    """The value at `path` (".a[0].b", "[?k==v].c", "[*].name", ".length"), or a Missing."""
    at = 0
    while at < len(path):
        match = STEP.match(path, at)
        if not match:
            raise CaseError(f"'{path}' is not a path: cannot read '{path[at:]}'")
        try:
            value = _step(value, match)
        except (KeyError, IndexError, TypeError):
            return Missing(path[:match.end()])
        at = match.end()
        if match["each"]:
            found = [follow(item, path[at:]) for item in value]
            return [item for item in found if not isinstance(item, Missing)]
    return value


def literal(text):
    """A JSON literal; what is none is taken as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def compare(left, op, right):
    """Whether `left op right` holds. A Missing equals nothing."""
    if op == "missing":
        return isinstance(left, Missing)
    if isinstance(left, Missing):
        return False
    if op == "exists":
        return True
    if isinstance(left, Selection):
        if not left:
            return False
        left = left[0]
    if op == "~":
        return re.search(str(right), text_of(left), re.MULTILINE) is not None
    if op == "!~":
        return not compare(left, "~", right)
    if op == "contains":
        return right in left if isinstance(left, (list, dict)) else text_of(right) in text_of(left)
    if op == "lacks":
        return not compare(left, "contains", right)
    if op == "within":
        return _within(left, right)
    if op in ("==", "!="):
        same = left == right and isinstance(left, bool) == isinstance(right, bool)
        return same == (op == "==")
    if not (_is_number(left) and _is_number(right)) and not (isinstance(left, str) and isinstance(right, str)):
        raise CaseError(f"cannot compare {show(left)} {op} {show(right)}: not two numbers, nor two strings")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _within(left, right):
    """`left within 5% of 100`, `left within 2 of 100`."""
    match = re.fullmatch(r"\s*([\d.]+)(%?)\s+of\s+(-?[\d.eE+-]+)\s*", str(right))
    if not match or not _is_number(left):
        raise CaseError(f"'within {right}': write NUMBER within N[%] of NUMBER; the left side is {show(left)}")
    target = float(match[3])
    allowed = float(match[1]) * (abs(target) / 100 if match[2] else 1)
    return abs(left - target) <= allowed


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def show(value):
    if isinstance(value, Missing):
        return f"nothing at {value.where}"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + " …"


def parse_json(text):
    """The JSON value in `text`; several lines of JSON become a list. None when it is neither."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()] or None
    except ValueError:
        return None


class Variables:
    """Names to values. A name may lead into a value: {app.truth.threads[0]}."""

    def __init__(self, **values):
        self.values = dict(values)

    def __setitem__(self, name, value):
        self.values[name] = value

    def look_up(self, name):
        """The value, or None when there is no such variable."""
        head = re.match(r"[\w-]+", name)[0]
        if head not in self.values:
            return None
        found = follow(self.values[head], name[len(head):])
        return None if isinstance(found, Missing) else found

    def expand(self, text, strict=True):
        """`text` with its {variables} replaced; an unknown one is an error, or stays when not strict."""

        def replace(match):
            value = self.look_up(match[1])
            if value is not None:
                return text_of(value)
            if strict:
                raise CaseError(f"no variable {{{match[1]}}}; there are {', '.join(sorted(self.values))}")
            return match[0]

        return VARIABLE.sub(replace, text)

    def environment(self):
        """Every plain value for a shell: app.truth.threads becomes app_truth_threads."""
        flat = {}

        def add(name, value):
            if isinstance(value, dict):
                for key, inner in value.items():
                    add(f"{name}_{key}", inner)
            elif re.fullmatch(r"\w+", name) and len(text := text_of(value)) <= MOST_IN_ENVIRONMENT:
                flat[name] = text

        for name, value in self.values.items():
            add(name, value)
        return flat


def split_expectation(text):
    """'.a == 1' → ('.a', '==', '1'). An operator inside [?…] or quotes is not the one."""
    for match in OPERATOR.finditer(text):
        left = text[:match.start()]
        if left.count("[") == left.count("]") and left.count('"') % 2 == 0:
            return left.strip(), match[1], text[match.end():].strip()
    raise CaseError(f"'{text}' has no operator: write LEFT ==|!=|<|<=|>|>=|~|!~|contains|lacks|within|exists|missing RIGHT")


def file_value(path, what):
    """For `file PATH` and `file PATH size`: its text or its size, or a Missing."""
    try:
        if what == "size":
            return os.stat(path).st_size
        with open(path, errors="replace") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Missing(path)
