"""Makes the pages of the reference: doxygen reads the headers, and each header with public names becomes a page."""

import collections
import dataclasses
import html
import itertools
import pathlib
import re
import subprocess
import xml.etree.ElementTree

import cpp_declarations
import cpp_source

CONFIGURATION = pathlib.Path(__file__).resolve().parent / "doxygen.conf"
LAYERS = ("tensor", "ops", "autograd", "functional", "sparse", "implicit", "least_squares", "map", "sum_over", "vmap", "manifold", "nn", "optim", "linalg", "data", "package", "distributed", "testing", "expr", "core", "fuse", "kernels")


# -- what doxygen reads

def for_doxygen(text):
    """A header whose comments stand above each declaration that they are about, in a form that doxygen does not interpret."""
    declarations = cpp_declarations.Declarations(text)
    comments, moved = {}, set()
    for each in [part for each in declarations.found for part in (each, *each.values)]:
        if each.line not in comments:
            told = each.comment or [said for name in getattr(each, "names", ()) if (said := cpp_declarations.said_once(each.kind, name))]
            comments[each.line] = ["/// @verbatim", *(f"/// {line}".rstrip() for line in told), "/// @endverbatim"] if told else []
            moved |= set(each.above)
    lines = []
    for number, line in enumerate(declarations.lines):
        lines += comments.get(number, [])
        if number not in moved:
            lines.append(line)
    return "\n".join(lines)


def comments_of_names(project):
    """{name: its comment} of all declarations. Doxygen gives a comment to the first name of a declaration, and to one overload."""
    found = {}
    for path in sorted((project / "include").rglob("*.hpp")):
        for each in cpp_declarations.Declarations(cpp_source.read(path)).found:
            for name in each.names if each.comment else ():
                found.setdefault((each.space + each.inside + name).removeprefix("xgrad::"), "\n".join(each.comment))
    return found


def run_doxygen(project, folder):
    """The folder of the XML that doxygen writes, and its warnings."""
    for path in (project / "include").rglob("*.hpp"):
        copy = folder / path.relative_to(project)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(for_doxygen(cpp_source.read(path)), encoding="utf-8")
    configuration = CONFIGURATION.read_text() + f'\nOUTPUT_DIRECTORY = "{folder}"\n'
    run = subprocess.run(["doxygen", "-"], input=configuration, cwd=folder, capture_output=True, encoding="utf-8", check=True)
    return folder / "xml", run.stderr.splitlines()


# -- its XML

@dataclasses.dataclass
class Entry:
    name: str                   # without xgrad::
    kind: str
    header: str
    line: int
    signature: str = ""
    comment: str = ""
    values: list = dataclasses.field(default_factory=list)
    members: list = dataclasses.field(default_factory=list)

    @property
    def anchor(self):
        return re.sub(r"[^\w.]", lambda sign: f"-{ord(sign[0]):x}", self.name.replace("::", "."))


def text(node):
    return "" if node is None else re.sub(r"\s+", " ", "".join(node.itertext())).strip()


def tidy(code):
    """`X const & x` as we write it: `X const& x`."""
    code = re.sub(r"(?<=\w|>) ([&*]{1,2})(?=\w|\.\.\.|[,)>]|$| \.\.\.)", r"\1 ", code)
    code = re.sub(r"([&*]) +(?=[,)>.])", r"\1", code)
    code = re.sub(r"<\s+", "<", re.sub(r"\s+>", ">", code))
    return re.sub(r"(?<=[\w)])=(?=[\w{])", " = ", code).strip()


def comment_of(node):
    found = node.find("detaileddescription")
    lines = [re.sub(r"^\s*///? ?", "", line).rstrip() for each in found.iter("verbatim") for line in (each.text or "").split("\n")] if found is not None else []
    return "\n".join(lines).strip("\n")


def template_of(node):
    lists = [each for each in node.findall("templateparamlist")]
    lines = []
    for each in lists:
        parameters = []
        for parameter in each.findall("param"):
            name, default = text(parameter.find("declname")), text(parameter.find("defval"))
            kind = text(parameter.find("type"))
            parameters.append(tidy(kind + (f" {name}" if name and not kind.endswith(f" {name}") else "") + (f" = {default}" if default else "")))
        lines.append(f"template <{', '.join(parameters)}>")
    if (requires := text(node.find("requiresclause"))):
        lines.append(f"    requires {requires}")
    return lines


def signature_of(node, name):
    """The declaration of a function, variable or alias."""
    kind, simple = node.get("kind"), name.rpartition("::")[2] if "operator" not in name else text(node.find("name"))
    type_, arguments = tidy(text(node.find("type"))), tidy(text(node.find("argsstring")))
    lines = template_of(node)
    if kind == "typedef":
        return "\n".join([*lines, f"using {simple} = {re.sub(r'^(using|typedef) ', '', type_)};" if type_ else text(node.find("definition")) + ";"])
    words = [word for word, is_set in (("static", node.get("static") == "yes"), ("explicit", node.get("explicit") == "yes")) if is_set and word not in type_]
    line = " ".join(word for word in [*words, type_, simple + arguments] if word)
    if kind == "variable":
        value = text(node.find("initializer"))
        if value and len(value) < 60:
            line += " " + value if value.startswith(("=", "{")) else f" = {value}"
    return "\n".join([*lines, broken(line + ";")])


def broken(line, columns=96):
    """A declaration over several lines where it is long."""
    if len(line) <= columns or "(" not in line:
        return line
    start, depth = line.index("("), 0
    parts, last = [], start + 1
    for at in range(start, len(line)):
        depth += (line[at] in "(<{[") - (line[at] in ")>}]" and line[at - 1] != "-")
        if line[at] == "," and depth == 1:
            parts.append(line[last:at + 1].strip())
            last = at + 2
        elif not depth:
            parts.append(line[last:at].strip())
            return line[:start + 1] + "\n    " + "\n    ".join(parts) + line[at:]
    return line


def member(node, inside):
    name = text(node.find("name"))
    entry = Entry(inside + name, node.get("kind"), node.find("location").get("file"), int(node.find("location").get("line")), comment=comment_of(node))
    if entry.kind == "enum":
        entry.values = [(text(value.find("name")), comment_of(value)) for value in node.findall("enumvalue")]
        kind = "enum class" if node.get("strong") == "yes" else "enum"
        entry.signature = f"{kind} {name} {{ {', '.join(value for value, _ in entry.values)} }};"
    else:
        entry.signature = signature_of(node, entry.name)
    return entry


def compound(node, name):
    location = node.find("location")
    entry = Entry(name, node.get("kind"), location.get("file"), int(location.get("line")), comment=comment_of(node))
    if entry.kind == "concept":
        lines = template_of(node)
        code = text(node.find("initializer"))
        entry.signature = tidy(re.sub(r"\s*template", "template", code)) + ";" if code else "\n".join([*lines, f"concept {name};"])
        return entry
    bases = [tidy(text(each)).replace("xgrad::", "") for each in node.findall("basecompoundref") if each.get("prot") == "public" and "detail::" not in text(each)]
    short = name.rpartition("::")[2]
    entry.signature = "\n".join([*template_of(node), f"{entry.kind} {short}" + (f" : {', '.join(bases)}" if bases else "") + ";"])
    for section in node.findall("sectiondef"):
        for each in section.findall("memberdef"):
            if each.get("prot") == "public" and each.get("kind") in ("function", "variable", "typedef", "enum"):
                named, arguments = text(each.find("name")), text(each.find("argsstring"))
                if cpp_declarations.is_listed(each.get("kind"), named) and not named.startswith("~") and not arguments.endswith("=delete"):
                    entry.members.append(member(each, name + "::"))
    entry.members.sort(key=lambda each: each.line)
    return entry


def read(folder):
    """{header: its entries, in order} of the names of xgrad that are no details."""
    found = collections.defaultdict(list)
    for path in sorted(folder.glob("*.xml")):
        if not path.name.startswith(("class", "struct", "union", "concept", "namespace")):
            continue
        node = xml.etree.ElementTree.parse(path).getroot().find("compounddef")
        full = text(node.find("compoundname"))
        if not re.match(r"xgrad(::|$)", full) or cpp_declarations.INTERNAL.search(full) or node.get("prot") == "private" or "<" in full:
            continue
        name = full.removeprefix("xgrad").removeprefix("::")
        if node.get("kind") == "namespace":
            inside = name + "::" if name else ""
            entries = [member(each, inside) for section in node.findall("sectiondef") for each in section.findall("memberdef")
                       if each.get("kind") in ("function", "variable", "typedef", "enum") and text(each.find("name")) != "choice_names"]
        else:
            entries = [compound(node, name)]
        for entry in entries:
            found[entry.header].append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: entry.line)
    return found


# -- the pages

def prose(comment):
    """A comment as Markdown: only what stands between backticks, or is indented, is code."""
    def escaped_lines(piece):
        return "\n".join(line if line.startswith("    ") else escaped(line) for line in piece.split("\n"))

    pieces = re.split(r"(`[^`]*`)", comment)
    return "".join(piece if piece.startswith("`") else escaped_lines(piece) for piece in pieces)


def escaped(plain):
    return re.sub(r"([\\*_\[\]|#~])", r"\\\1", html.escape(plain, quote=False))


def code(*signatures):
    return "```cpp\n" + "\n".join(signatures) + "\n```\n"


def sections(entries, level):
    """Functions of one name are one section, which stands where the first of them is declared."""
    groups = collections.defaultdict(list)
    for entry in entries:
        groups[entry.name, entry.kind == "function" or entry.line].append(entry)
    out = []
    for (name, _), overloads in groups.items():
        out.append(f"{'#' * level} `{name}` {{ #{overloads[0].anchor} }}\n")
        signatures = []
        for overload, after in zip(overloads, [*overloads[1:], None]):
            signatures.append(overload.signature)
            if not after or after.comment != overload.comment:          # overloads with one comment stand together
                out += [code(*dict.fromkeys(signatures)), prose(overload.comment) + "\n"]
                signatures = []
        entry = overloads[0]
        out.append("".join(f"- `{value}`: {prose(comment)}\n" for value, comment in entry.values if comment))
        out.append(members(entry, level + 1))
    return "\n".join(part for part in out if part)


def members(entry, level):
    functions = [each for each in entry.members if each.kind == "function"]
    others = [each for each in entry.members if each.kind != "function"]
    out = []
    if others:
        rows = []
        for _, group in itertools.groupby(others, lambda each: each.comment or each.name):      # what has one comment is one row
            group = list(group)
            names = ", ".join(f'<a id="{each.anchor}"></a>`{" ".join(each.signature.split())}`' for each in group)
            told = [group[0].comment, *(f"`{value}`: {comment}" for value, comment in group[0].values if comment)]
            rows.append(": ".join(filter(None, [names, " ".join(prose("\n".join(told)).split())])))
        out.append("\n".join(f"- {row}" for row in rows) + "\n")
    return "\n".join([*out, sections(functions, level)])


def introduction(path):
    """What a header opens with, as Markdown. Each fact is a paragraph."""
    told = prose("\n".join(cpp_declarations.introduction(path.read_text(encoding="utf-8"))))
    return re.sub(rf"^({'|'.join(cpp_declarations.FACTS)}):", r"\n**\1:**", told, flags=re.M)


def page_of(header):
    return re.sub("^xgrad[/_]", "", header).removesuffix(".hpp") + ".md"


def every_entry(found):
    return [each for entries in found.values() for top in entries for each in (top, *top.members)]


def described(project, folder):
    """{header: its entries, in order}, each with its comment, of the XML in a folder."""
    found, comments = read(folder), comments_of_names(project)
    for entry in every_entry(found):
        entry.comment = entry.comment or comments.get(entry.name, "")
    return found


def without_comment(found):
    """The entries that nothing is said about. A constructor is described by its class, and an operator by its sign."""
    exempt = re.compile(r"(^|::)((\w+)::\3$|operator\b)")
    return [entry for entry in every_entry(found) if not entry.comment and not (entry.kind == "function" and exempt.search(entry.name))]


def write(project, folder, output):
    """Writes the pages to a folder, and returns the names, {name: address relative to the folder}, and the navigation."""
    found = described(project, folder)
    names, layers = collections.defaultdict(list), collections.defaultdict(list)
    for header in sorted(found):
        entries = found[header]
        page = output / page_of(header)
        page.parent.mkdir(parents=True, exist_ok=True)
        layer, _, file = re.sub("^xgrad[/_]", "", header).rpartition("/")
        layers[layer].append((file, page_of(header), list(dict.fromkeys(entry.name for entry in entries if "operator" not in entry.name))))
        page.write_text(f"# {file}\n\n{introduction(project / 'include' / header)}\n\n{code(f'#include <{header}>')}\n{sections(entries, 2)}", encoding="utf-8")
        for entry in [*entries, *(each for entry in entries for each in entry.members)]:
            address = f"{page_of(header)}#{entry.anchor}"
            if address not in names[entry.name]:
                names[entry.name].append(address)
    index = ["# Reference\n\nEach public name of the library, by the folder and the header that declare it. "
             "`#include <xgrad/xgrad.hpp>` has everything up to `functional`; "
             "`nn.hpp`, `optim.hpp`, `linalg.hpp`, `sparse.hpp`, `implicit.hpp`, `least_squares.hpp`, `vmap.hpp`, `data.hpp`, `package.hpp` and `distributed.hpp` have the folder of their name.\n"]
    navigation = [{"All names": "reference/README.md"}]
    for layer in sorted(layers, key=lambda layer: LAYERS.index(layer.split("/")[0]) if layer.split("/")[0] in LAYERS else len(LAYERS)):
        index.append(f"## {layer or 'xgrad'}\n")
        for file, page, entries in layers[layer]:
            links = ", ".join(f"[`{name}`]({names_on(names, name, page)})" for name in entries)
            index.append(f"- **[{file}]({page})**: {links}")
        index.append("")
        navigation.append({layer or "xgrad": [{file: f"reference/{page}"} for file, page, _ in layers[layer]]})
    (output / "README.md").write_text("\n".join(index), encoding="utf-8")
    return dict(names), navigation


def names_on(names, name, page):
    return next(address for address in names[name] if address.split("#")[0] == page)
