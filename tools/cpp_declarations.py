"""Reads the public declarations of a header: enough of C++ to tell which names it declares, and which comment is about which."""

import dataclasses
import re

import cpp_source

NOT_FUNCTIONS = {"alignas", "decltype", "noexcept", "explicit", "requires", "static_assert", "sizeof", "__attribute__", "if", "return"}
# A rule is its own text; forward is what the module is for.
SAID_BY_THE_CLASS = {"choice_names", "value", "partial", "value_and_partial", "pullback", "forward"}
# What the introduction of a header with public functions or classes tells of them, each in a paragraph that begins with the word.
FACTS = ("Shapes", "Gradients", "Errors")


def skip_parentheses(code, at, pair="()"):
    """Where the parenthesis that opens at a position is closed."""
    either, depth = re.compile(f"[{re.escape(pair)}]"), 0
    for match in either.finditer(code, at):
        depth += 1 if match[0] == pair[0] else -1
        if not depth:
            return match.end()
    return len(code)


def without_template(head):
    """A declaration without its template parameters."""
    head = head.strip()
    while match := re.match(r"template\s*<", head):
        at, depth = match.end(), 1
        while depth and at < len(head):
            depth += (head[at] == "<") - (head[at] == ">" and head[at - 1] != "-")
            at += 1
        head = head[at:].strip()
    return head


def without_arguments(head):
    """A declaration without what stands between < and >."""
    while (shorter := re.sub(r"(?<!operator)<[^<>]*>", "", head)) != head:
        head = shorter
    return head


def function_name(head):
    """The name of the function that a declaration declares, or None."""
    head = without_arguments(without_template(re.sub(r"\[\[.*?\]\]|->", "", head)))
    if re.match(r"(using|typedef|friend|static_assert|concept|extern|namespace|enum)\b", head) or re.search(r"(=\s*(delete|default)|\boverride|\bfinal)\s*$", head):
        return None
    for match in re.finditer(r"(~?\w+)\s*\(", head):
        name = match[1]
        if name in NOT_FUNCTIONS or re.fullmatch(r"[A-Z][A-Z0-9_]+", name):
            continue
        before = head[:match.start()]
        if before.endswith("::"):                     # declared in its class, where the comment is
            return None
        if "operator" in before or name == "operator" or re.search(r"(?<![=!<>])=(?!=)", before) or name.startswith("~"):
            return None
        return name
    return None


def other_names(head):
    """(kind, names) of a declaration that is no function."""
    head = without_template(re.sub(r"\[\[.*?\]\]", "", head))
    if match := re.match(r"using\s+(\w+)\s*=", head):
        return "alias", [match[1]]
    if match := re.match(r"concept\s+(\w+)", head):
        return "concept", [match[1]]
    if match := re.match(r"enum\s+(?:class\s+|struct\s+)?(\w+)", head):
        return "enum", [match[1]]
    if re.match(r"(using|typedef|friend|static_assert|extern|namespace|class|struct|union|goto|template)\b", head) or "operator" in head or "(" in head.split("=")[0]:
        return None, []
    names, depth, parts = [], 0, [""]
    for character in re.sub(r"->|[<>=!]=", "  ", head):
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    for part in parts:
        words = re.findall(r"\w+", re.split(r"[\[{]", without_arguments(part.split("=")[0]))[0])
        if words and (names or len(words) > 1):
            names.append(words[-1])
    return "variable", names


@dataclasses.dataclass
class Declaration:
    space: str              # "xgrad::nn::"
    inside: str             # "Box::" for members of Box
    names: list             # none where it is a constructor, an operator or the like
    kind: str               # function, class, alias, concept, enum, variable
    line: int               # where it begins, from 0
    above: range            # the lines of the comment that stands directly above
    comment: list           # its lines: above, behind it on its line, or that of its group; None where there is none
    public: bool


class Declarations:
    """The declarations of a header, in order.

    Declarations without a blank line between them are a group, and the comment above the first one is for all of them.
    """

    def __init__(self, text):
        self.lines = text.split("\n")
        self.code = cpp_source.code_without_directives(text)
        self.found = []
        self.scope(0, "", "", True)

    def line(self, at):
        return self.code.count("\n", 0, at)

    def scope(self, at, space, inside, visible, public=True, class_name=None):
        """Reads the declarations of a namespace or class from a position, and returns where it ends."""
        code, start = self.code, at
        group_ends, comment = -2, None

        def declared(end, head, kind=None, names=()):
            nonlocal group_ends, comment
            line = self.line(start + len(code[start:end]) - len(code[start:end].lstrip()))
            first = line
            while first and self.lines[first - 1].strip().startswith("//"):
                first -= 1
            if first < line:
                comment = [re.sub(r"^\s*//+ ?", "", text) for text in self.lines[first:line]]
            elif "//" in self.lines[line] and group_ends != line:
                comment = [re.sub(r".*?//+ ?", "", self.lines[line])]
            elif group_ends < line - 1:
                comment = None
            group_ends = self.line(end)
            if kind is None:
                name = function_name(head)
                kind, names = ("function", [name]) if name and name != class_name else other_names(head)
            self.found.append(Declaration(space, inside, names, kind, line, range(first, line), comment, visible and public))

        while at < len(code):
            here = code[at]
            if here == "}":
                return at + 1
            if here == "(":
                is_macro = re.fullmatch(r"\s*[A-Z][A-Z0-9_]+", code[start:at])
                at = skip_parentheses(code, at)
                if is_macro:                              # a macro call, which ends without a semicolon
                    start = at
                continue
            if here == ":" and code[at + 1] != ":" and (label := re.fullmatch(r"\s*(public|private|protected)\s*", code[start:at])):
                public = label[1] == "public"
            elif here == ";":
                if code[start:at].strip():
                    declared(at, code[start:at])
            elif here != "{":
                at += 2 if code[at:at + 2] == "::" else 1
                continue
            else:
                head = re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)", "", without_template(code[start:at])).strip()
                if match := re.match(r"(?:inline\s+)?namespace\b\s*([\w:]*)$", head):
                    private = re.search(r"\b(detail|xt|std)\b", match[1]) or not match[1]
                    at = self.scope(at + 1, f"{space}{match[1]}::", inside, visible and not private)
                    start = at
                    continue
                match = re.match(r"(class|struct|union)\s+(?:[A-Z][A-Z0-9_]+\s+)?(?!final\b)(\w+)", head)
                if match and "(" not in without_arguments(head).split(":")[0]:
                    specialised = re.match(r"\s*(<|::)", head[match.end():])        # adds no name
                    declared(at, head, "class", [] if specialised else [match[2]])
                    at = self.scope(at + 1, space, f"{inside}{match[2]}::", visible and public and not specialised, match[1] != "class", match[2])
                    group_ends = self.line(at - 1)
                    start = at
                    continue
                at = skip_parentheses(code, at, "{}")
                follows = re.match(r"\s*(=|[;,{]|const\b|noexcept\b)?", code[at:])
                before = code[start:at].split("{")[0]
                if follows[1] == ";":
                    at += follows.end() - 1
                elif follows[1] or not function_name(before) and "=" in re.sub(r"operator\W+", "", without_template(before)):      # more initialisers, or more of a concept
                    continue
                declared(at - 1, before)
                at -= follows[1] != ";"
            start = at = at + 1
        return at


def undocumented(text):
    """The public functions of a header that have no comment anywhere in it."""
    documented, missing = set(), set()
    for each in Declarations(text).found:
        if each.public and each.kind == "function" and each.names[0] not in SAID_BY_THE_CLASS:
            (documented if each.comment else missing).add(each.inside + each.names[0])
    return sorted(missing - documented)


def introduction(text):
    """The lines of the comment that a header opens with, without what is to be read next."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("//") or line.startswith("// Read next:"):
            break
        lines.append(line.removeprefix("//").removeprefix(" "))
    return lines


def facts(text):
    """The facts that the introduction of a header states, in order."""
    return [fact for line in introduction(text) for fact in FACTS if re.match(rf"{fact}: \S", line)]


def needs_facts(text):
    """True where a header declares a public function or class."""
    return any(each.public and each.names and each.kind in ("function", "class") for each in Declarations(text).found)
