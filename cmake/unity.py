#!/usr/bin/env python3
"""Groups the .cpp files of one room into unity sources, so that headers are parsed once per group.

    unity.py INCLUDE_FOLDER OUT_FOLDER < list of .cpp files below INCLUDE_FOLDER, one per line

Prints the files to compile, one per line: OUT_FOLDER/unity_N.cpp, or a source itself when its group would have one member.

Two files share a group only when no file-local name of one (anonymous namespace, static, #define, using) is an unqualified
word of the other. Then joining them changes no meaning: neither clashes, nor overloads that would be chosen silently. The same
using-declaration in both is allowed.
"""
import pathlib
import re
import sys

MOST_LINES = 3000  # in a group: larger ones leave one core idle at the end, smaller ones parse headers more often

# Raw strings first: they may hold anything. Digit separators are part of a number, not quotes.
TOKEN = re.compile(
    r"""R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)" | //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | \d[\w.']* | '(?:\\.|[^'\\\n])*'
        | ^[ \t]*\#[ \t]*(?P<directive>\w+)(?P<rest>(?:\\\n|[^\n])*) | (?P<word>[A-Za-z_]\w*) | (?P<op>::|->|\S)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE)
KEYWORDS = frozenset("""
    alignas auto bool break case catch char class concept const consteval constexpr constinit continue co_await co_return co_yield decltype
    default delete do double else enum explicit extern false float for friend if inline int long mutable namespace new noexcept nullptr
    operator private protected public requires return short signed sizeof static static_cast struct switch template this throw true try
    typedef typename union unsigned using virtual void volatile while override final std""".split())


class Source:
    def __init__(self, path):
        self.path = path
        text = pathlib.Path(path).read_text(encoding="utf-8")
        self.lines = text.count("\n")
        self.macros = set()
        tokens = []
        for match in TOKEN.finditer(text):
            if match["directive"]:
                if match["directive"] == "define":
                    self.macros.add(match["rest"].split()[0].split("(")[0])
            elif match["word"] or match["op"]:
                tokens.append(match["word"] or match["op"])
            else:
                tokens.append("0")  # a literal
        self.words = unqualified(tokens)
        self.private = {**private_names(tokens), **dict.fromkeys(self.macros, "#define")}  # name: what tells the same name apart


def unqualified(tokens):
    """Words that look a name up in the enclosing scopes."""
    found = set()
    for before, token in zip(["", *tokens], tokens):
        if (token[0].isalpha() or token[0] == "_") and before not in (".", "->", "::") and token not in KEYWORDS:
            found.add(token)
    return found


def private_names(tokens):
    """What an anonymous namespace, or static or using in a named one, declares."""
    names, scopes, head, depth = {}, [], [], 0  # scopes: of namespaces, True for an anonymous one; depth: of other braces
    for token in tokens:
        if depth == 0 and token == "{" and head and "namespace" in head and not {"(", "="} & set(head):
            scopes.append(head[-1] == "namespace")
            head = []
        elif token in "{(":
            if depth == 0:
                names.update(declared(head, any(scopes)))
                head = [*head, "{}"] if token == "{" else [*head, "()"]
            depth += 1
        elif token in "})":
            if depth:
                depth -= 1
                if depth == 0 and token == "}" and not {"=", "struct", "class", "enum", "union"} & set(head):
                    head = []
            elif scopes:
                scopes.pop()
                head = []
        elif depth == 0 and token == ";":
            names.update(declared(head, any(scopes)))
            head = []
        elif depth == 0:
            head.append(token)
    return names


def declared(head, anonymous):
    """The name that a declaration's first tokens introduce, where it is local to the file; for a using-declaration with its origin."""
    if not head or "{}" in head or (not anonymous and not {"static", "using"} & set(head)):
        return {}
    if head[0] == "using" and head[1:2] == ["namespace"]:
        return {} if head[-1].endswith("_literals") else {"*": ""}  # all its names: such a file stays alone
    if head[0] == "using" and "=" not in head:
        return {head[-1]: "".join(head)}
    head = head[:head.index("=")] if "=" in head and "operator" not in head else head
    if "()" in head:
        head = head[:head.index("()")]
    words = [word for word in outside_angles(head) if word[0].isalpha() or word[0] == "_"]
    for kind in ("struct", "class", "enum", "union"):
        if kind in words:
            words = [word for word in words[words.index(kind) + 1:] if word not in KEYWORDS]
            return {words[0]: ""} if words else {}
    words = [word for word in words if (word not in KEYWORDS or word == "using") and not word.startswith(("TEST", "INSTANTIATE_TEST"))]
    return {words[-1]: ""} if words else {}


def outside_angles(head):
    depth, kept = 0, []
    for token in head:
        depth += {"<": 1, ">": -1}.get(token, 0)
        if depth <= 0 and token != ">":
            kept.append(token)
        if token == "[" and depth <= 0:
            return kept[:-1]
    return kept


def fits(group, source):
    def apart(one, other):
        return "*" not in one.private and all(origin.startswith("using") and other.private.get(name) == origin
                                              for name, origin in one.private.items() if name in other.words or name in other.private)

    return all(apart(member, source) and apart(source, member) for member in group)


def grouped(sources):
    groups = []
    for source in sources:
        for group in groups:
            if sum(member.lines for member in group) + source.lines <= MOST_LINES and fits(group, source):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def write_if_new(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def files_to_compile(top, folder, paths):
    folder.mkdir(parents=True, exist_ok=True)
    for number, group in enumerate(grouped([Source(path) for path in paths])):
        if len(group) == 1:
            yield group[0].path
            continue
        path = folder / f"unity_{number}.cpp"
        # Relative paths: the same text in every clone, for the compiler cache.
        write_if_new(path, "".join(f'#include "{pathlib.Path(member.path).relative_to(top)}"\n' for member in group))
        yield str(path)


if __name__ == "__main__":
    print(*files_to_compile(*map(pathlib.Path, sys.argv[1:]), filter(None, map(str.strip, sys.stdin))), sep="\n")
