"""Reads the public declarations of a header: enough of C++ to tell which names it declares, and which comment is about which."""

import dataclasses
import re

import cpp_source

NOT_FUNCTIONS = {"alignas", "decltype", "noexcept", "explicit", "requires", "static_assert", "sizeof", "__attribute__", "if", "return"}
# A rule is its own text; forward is what the module is for.
SAID_BY_THE_CLASS = {"choice_names", "value", "partial", "value_and_partial", "factor", "pullback", "forward"}
# What the introduction of a header with public names tells of them, each in a paragraph that begins with the word.
FACTS = ("Shapes", "Gradients", "Errors")
# Data of a rule that only error messages and formulas use: the name of its function.
NOT_LISTED = {"written"}
# Namespaces without public names.
INTERNAL = re.compile(r"xgrad::(simd|verdict)\b|\bdetail\b")
# What many classes have under one name and with one meaning: {kind: {name: what the reference says where the class says nothing}}.
SAID_ONCE = {
    "alias": {
        "operand_tag": "Marks a type that operations take as an operand: see Operand.",
        "tensor_tag": "Marks a Tensor.",
        "evaluated_at_once": "Marks an operand to which operations are applied at once, without an Expression.",
        "kind": "The kind of the scalars: B, Z, R or C.",
        "precision": "The real type of the scalars: double for std::complex<double>.",
        "scalar": "The type of the elements.",
        "value_type": "The type of the value, or of the elements.",
        "Options": "The type of the options that the constructor takes by name.",
        **dict.fromkeys(("size_type", "difference_type", "reference", "const_reference", "iterator", "const_iterator", "reverse_iterator",
                         "const_reverse_iterator", "iterator_concept"), "As in the standard library."),
    },
    "variable": {
        "operand_count": "The number of operands in the expression; one that occurs twice counts twice.",
        "is_multilinear": "True if the operation is linear in each of its arguments.",
        "uses": "The values that the pullback of each argument reads: arguments, and the result.",
        "dependence": "On which elements of an argument an element of the result depends.",
    },
    "function": {
        "project": "The component of v that is tangent at x.",
        "retract": "The point that is reached from x along v.",
        "transport": "The tangent v at x, taken to y.",
        "inner": "The inner product of two tangents at x.",
        "gradient": "The gradient on the manifold of a function whose gradient at x is g.",
        "hessian": "The covariant derivative along v of the gradient on the manifold; h is that of g.",
        "random": "A random point with the shape and type of x.",
        "joined_axes": "The axes along which all elements depend on each other; along the others none do.",
        "kept_axes": "For each axis of the result that of the argument on whose same index it depends, or -1.",
    },
}


def said_once(kind, name):
    return SAID_ONCE.get(kind, {}).get(name)


def replace_words(text, arguments):
    return re.sub(r"[A-Za-z_]\w*", lambda word: arguments.get(word[0], word[0]), text)


def expansion(macro, arguments):
    """The comment and the lines that a use of a macro stands for. Between backticks, the comment of the macro may have its parameters."""
    comment, parameters, body = macro
    values = dict(zip(parameters, arguments))
    told = {name + end: value + end for name, value in values.items() for end in ("", "_")}
    code = re.sub(r"(?<!#)#\s*(\w+)", lambda match: f'"{values.get(match[1], match[1])}"', "\n".join(body))
    return ([re.sub(r"`[^`]*`", lambda words: replace_words(words[0], told), line) for line in comment],
            re.sub(r"\s*##\s*", "", replace_words(code, values)).strip("\n").split("\n"))


def expanded(text):
    """A header in which each function that one of its own macros makes stands where the macro is used, below the comment of the macro."""
    macros, lines, out, at = {}, text.split("\n"), [], 0

    def uses(code):
        """The expansion of the macros in a line that has nothing else, or None."""
        called = re.findall(r"([A-Z][A-Z0-9_]+)\(([^()]*)\)", code)
        if not called or re.sub(r"[A-Z][A-Z0-9_]+\([^()]*\)|\s", "", code) or not all(name in macros for name, _ in called):
            return None
        found = []
        for name, arguments in called:
            comment, made = expansion(macros[name], [argument.strip() for argument in arguments.split(",")])
            found += uses(" ".join(made)) or [*comment, *made, ""]
        return found

    while at < len(lines):
        first = at
        if match := re.match(r"#\s*(define|undef)\s+([A-Z][A-Z0-9_]+)(?:\(([\w, .]*)\))?(.*)", lines[at]):
            while lines[at].endswith("\\") and at + 1 < len(lines):
                at += 1
            macros.pop(match[2], None)
            if match[3] is not None:
                above = first
                while above and lines[above - 1].strip().startswith("///"):
                    above -= 1
                body = [line.removesuffix("\\").rstrip() for line in [match[4], *lines[first + 1:at + 1]]]
                macros[match[2]] = lines[above:first], [name.strip() for name in match[3].split(",")], body
        made = None if match else uses(lines[at])
        out += lines[first:at + 1] if made is None else made
        at += 1
    return "\n".join(out)


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


def without(pair, head):
    """A declaration without what stands between parentheses or braces, of which the last may not be closed."""
    opens, closes = map(re.escape, pair)
    while (shorter := re.sub(rf"{opens}[^{opens}{closes}]*({closes}|$)", "", head)) != head:
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
    if re.match(r"(using|typedef|friend|static_assert|extern|namespace|class|struct|union|goto|template|requires)\b", head) or "operator" in head or "(" in without_arguments(head).split("=")[0]:
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


def named(names, comment):
    """Whether a comment on several names is about these: it has them, or begins with "Each"."""
    text = " ".join(comment)
    return text.startswith("Each ") or all(re.search(rf"(?<!\w){name}(?!\w)", text) for name in names)


@dataclasses.dataclass
class Enumerator:
    name: str
    line: int
    above: range
    comment: list           # of its own; None where only that of the enum may name it


@dataclasses.dataclass
class Declaration:
    space: str              # "xgrad::nn::"
    inside: str             # "Box::" for members of Box
    names: list             # none where it is a constructor, an operator or the like
    kind: str               # function, class, alias, concept, enum, variable
    line: int               # where it begins, from 0
    above: range            # the lines of the comment that stands directly above
    comment: list           # its lines: above, behind it, or that of its group; None where there is none
    public: bool
    values: list            # of an enum: an Enumerator for each


class Declarations:
    """The declarations of a header, in order.

    A comment stands above, or behind on the first or the last line, from where it continues on lines with // in the same column.
    Declarations without a blank line between them are a group. The comment above one of them is for the functions that follow,
    and for what else follows if it names that or begins with "Each". Functions that a macro of the header makes are declarations, too.
    """

    def __init__(self, text):
        text = expanded(text)
        self.lines = text.split("\n")
        self.code = cpp_source.code_without_directives(text)
        self.code_lines = self.code.split("\n")
        self.comment_lines = [line if "//" in line else "" for line in cpp_source.comments(text).split("\n")]
        self.found = []
        self.scope(0, "", "", True)

    def line(self, at):
        return self.code.count("\n", 0, at)

    def behind(self, line):
        """The lines of the comment behind the code of a line, or None."""
        if not self.comment_lines[line] or not self.code_lines[line].strip():
            return None
        column, end = self.comment_lines[line].index("//"), line + 1
        while end < len(self.lines) and self.continues(end, column):
            end += 1
        return [re.sub(r"^\s*//+<? ?", "", text) for text in self.comment_lines[line:end]]

    def continues(self, line, column):
        return self.comment_lines[line].strip() and not self.code_lines[line].strip() and self.comment_lines[line].index("//") == column

    def above(self, line):
        """The lines of the comment that stands directly above a line; they may be none."""
        first = line
        while first and self.lines[first - 1].strip().startswith("//"):
            first -= 1
        if first and self.comment_lines[first - 1] and self.code_lines[first - 1].strip():      # the comment behind that line goes on
            column = self.comment_lines[first - 1].index("//")
            while first < line and self.continues(first, column):
                first += 1
        return range(first, line)

    def text(self, lines):
        return [re.sub(r"^\s*//+ ?", "", self.lines[line]) for line in lines]

    def enumerators(self, start, end):
        """The enumerators between the braces of an enum."""
        found = []
        for match in re.finditer(r"(?:^|(?<=,))\s*(\w+)", self.code[start:end]):
            line = self.line(start + match.start(1))
            is_alone = re.fullmatch(r"\s*\w+\s*(=[^,{}]*)?,?\s*", self.code_lines[line])
            above = self.above(line) if is_alone else range(line, line)
            found.append(Enumerator(match[1], line, above, self.text(above) or is_alone and self.behind(line) or None))
        return found

    def scope(self, at, space, inside, visible, public=True, class_name=None):
        """Reads the declarations of a namespace or class from a position, and returns where it ends."""
        code, start = self.code, at
        group_ends, comment, of_group = -2, None, None

        def is_constructor(head):
            return class_name and re.search(rf"(?<![\w:~]){class_name}\s*\(", head)

        def declared(end, head, kind=None, names=(), values=()):
            nonlocal group_ends, comment, of_group
            line = self.line(start + len(code[start:end]) - len(code[start:end].lstrip()))
            above = self.above(line)
            if kind is None:
                name = function_name(head)
                kind, names = (None, []) if is_constructor(head) else ("function", [name]) if name else other_names(head)
            if group_ends < line - 1 - len(above):
                comment = of_group = None
            own = self.text(above) or group_ends != line and self.behind(line)
            if not own and kind in ("variable", "alias", "enum"):
                own = self.behind(self.line(end))
            of_group = self.text(above) or of_group
            if kind not in ("variable", "alias"):
                comment = own or comment
            if kind in ("function", None):
                told = comment
            else:
                told = own or (of_group if of_group and named(names, of_group) else None)
            group_ends = self.line(end)
            self.found.append(Declaration(space, inside, names, kind, line, above, told, visible and public, list(values)))

        while at < len(code):
            here = code[at]
            if here == "}":
                return at + 1
            if here == "(":
                is_macro = re.fullmatch(r"\s*[A-Z][A-Z0-9_]+", code[start:at]) and code[start:at].strip() != class_name
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
                match = re.match(r"(?:inline\s+|constexpr\s+)*(class|struct|union)\s+(?:[A-Z][A-Z0-9_]+\s+)?(?!final\b)(\w+)", head)
                if match and "(" not in without_arguments(head).split(":")[0]:
                    specialised = re.match(r"\s*(<|::)", head[match.end():])        # adds no name
                    declared(at, head, "class", [] if specialised else [match[2]])
                    at = self.scope(at + 1, space, f"{inside}{match[2]}::", visible and public and not specialised, match[1] != "class", match[2])
                    group_ends = self.line(at - 1)
                    start = at
                    if variable := re.match(r"\s*(\w+)\s*\{\s*\}\s*;", code[at:]):
                        at += variable.end()
                        declared(at - 1, variable[0], "variable", [variable[1]])
                        start = at
                    continue
                at = skip_parentheses(code, at, "{}")
                follows = re.match(r"\s*(=|[;,{]|const\b|noexcept\b)?", code[at:])
                before = code[start:at].split("{")[0]
                if follows[1] == ";":
                    at += follows.end() - 1
                elif follows[1] or not function_name(before) and "=" in re.sub(r"operator\W+", "", without("()", without_template(before))):      # more initialisers, or more of a concept
                    continue
                opened = start + len(before)
                is_enum = re.match(r"enum\b", before.strip())
                is_variable = follows[1] == ";" and not is_enum and not function_name(before) and not is_constructor(before)
                declared(at - 1, without("{}", code[start:at]) if is_variable else before, values=self.enumerators(opened + 1, code.index("}", opened)) if is_enum else ())
                at -= follows[1] != ";"
            start = at = at + 1
        return at


def is_listed(kind, name):
    """Whether the reference has an entry for a member or a function of this name."""
    return name not in SAID_BY_THE_CLASS if kind == "function" else name not in NOT_LISTED and not name.endswith("_")


def undocumented(text):
    """The public names of a header that have no comment anywhere in it."""
    documented, missing = set(), set()

    def count(name, is_documented):
        (documented if is_documented else missing).add(name)

    for each in Declarations(text).found:
        if not each.public or each.kind != "function" and INTERNAL.search(each.space):
            continue
        for name in each.names:
            if is_listed(each.kind, name) and not said_once(each.kind, name):
                count(each.inside + name, each.comment and (len(each.names) == 1 or named([name], each.comment)))
            for value in each.values:
                count(f"{each.inside}{name}::{value.name}", value.comment or each.comment and named([value.name], each.comment))
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
    """True where a header declares a public name, and its code speaks of tensors or expressions."""
    return re.search(r"\b(Tensor|Expression)\b", cpp_source.code_without_directives(text)) and any(each.public and each.names and not INTERNAL.search(each.space) for each in Declarations(text).found)
