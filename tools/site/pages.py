"""Collects the pages of the site in one folder: the documents, what they link to in the sources, and the reference."""

import html
import os
import pathlib
import re
import shutil

import reference

# Documents outside of docs/, and where they are on the site.
OTHERS = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
          "CODE_OF_CONDUCT.md": "code_of_conduct.md"}
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".ipp": "cpp", ".py": "python", ".sh": "bash", ".cmake": "cmake", ".json": "json"}
LINK = re.compile(r"`[^`\n]*`|(\]\(|<img[^>]*? src=\"|<a[^>]*? href=\")([^)\s\"]+)")       # code has none
FENCED = re.compile(r"^```.*?^```[ \t]*$", re.M | re.S)


def title_of(text):
    match = re.search(r"^# (.+)$", FENCED.sub("", text), re.M)
    return match[1].replace("`", "") if match else "xgrad"


class Pages:
    """Writes pages to `folder`. What a page links to and is not a page itself becomes one: a file of the sources with its text, a folder with its list."""

    def __init__(self, project, folder):
        self.project, self.folder = project, folder
        self.documents = {project / name: page for name, page in OTHERS.items() if (project / name).is_file()}
        self.documents |= {path: path.relative_to(project / "docs").as_posix() for path in sorted((project / "docs").rglob("*"))
                           if path.suffix in (".md", ".svg", ".png")}
        self.sources, self.wanted = {}, []
        self.missing = []

    def write(self, page, text):
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def target(self, document, page, link):
        """A link of a document, as the page must have it."""
        if re.match(r"[a-z]+:|#", link):
            return link
        address, hash_, anchor = link.partition("#")
        path = pathlib.Path(os.path.normpath(document.parent / address))
        if path not in self.documents and path not in self.sources:
            if not path.exists() or self.project not in path.parents:
                self.missing.append(f"{document.relative_to(self.project)}: there is no {link}")
                return link
            name = path.relative_to(self.project).as_posix()
            self.sources[path] = f"sources/{name}/README.md" if path.is_dir() else f"sources/{name}.md"
            self.wanted.append(path)
        found = self.documents.get(path) or self.sources[path]
        return os.path.relpath(found, os.path.dirname(page) or ".") + hash_ + anchor

    def add_document(self, path, page):
        if path.suffix != ".md":
            (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.folder / page)
            return
        text = re.sub(r"<!--.*?-->\n?", "", path.read_text(encoding="utf-8"), flags=re.S)
        at, parts = 0, []
        for block in [*FENCED.finditer(text), None]:
            prose = text[at:block.start() if block else len(text)]
            parts.append(LINK.sub(lambda link: link[1] + self.target(path, page, link[2]) if link[1] else link[0], prose))
            if block:
                parts.append(block[0])
                at = block.end()
        self.write(page, "".join(parts))

    def add_source(self, path, page):
        name = path.relative_to(self.project).as_posix()
        if path.is_dir():
            lines = [f"# {name}/\n"]
            for each in sorted(path.iterdir()):
                if each.is_dir():
                    lines.append(f"- {reference.escaped(each.name)}/")
                elif each in self.sources:
                    lines.append(f"- [{reference.escaped(each.name)}]({os.path.relpath(self.sources[each], os.path.dirname(page))})")
                else:
                    lines.append(f"- {reference.escaped(each.name)}")
            self.write(page, "\n".join(lines) + "\n")
        else:
            text = path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
            language = LANGUAGES.get(path.suffix, "python" if text.startswith("#!/usr/bin/env python") else "bash" if text.startswith("#!") else "text")
            self.write(page, f"# {reference.escaped(name)}\n\n````{language}\n{text}\n````\n")

    def collect(self):
        for path, page in self.documents.items():
            self.add_document(path, page)
        while self.wanted:
            path = self.wanted.pop()
            if path.is_file():
                self.add_source(path, self.sources[path])
        for path, page in self.sources.items():
            if path.is_dir():
                self.add_source(path, page)


# -- navigation

# Chapters with the pages of docs/ in their order. What is not named here is under "More", so that no page is lost.
CHAPTERS = [
    ("Home", ["index.md"]),
    ("Tutorial", ["tutorial.md"]),
    ("Gallery", ["gallery.md"]),
    ("How to", ["from_numpy.md", "from_pytorch.md", "from_jax.md", "from_xtensor.md", "from_eigen.md", "functional.md", "many.md", "map.md", "least_squares.md", "manifolds.md", "implicit.md", "functions.md", "complex.md", "nn.md", "layers.md", "linalg.md",
                "data.md", "package.md", "distributed.md", "libraries.md"]),
    ("Autograd", ["autograd.md", "autograd/saved_tensors.md", "autograd/modes.md", "autograd/in_place.md", "autograd/hooks.md", "hooks.md", "autograd/kinks.md", "autograd/complex.md",
                  "autograd/threads.md", "autograd/errors.md", "autograd/differences.md"]),
    ("Reference", None),
    ("Inside", ["architecture.md", "benchmarks.md", "contributing.md", "decisions/README.md"]),
    ("Changelog", ["changelog.md"]),
]


def navigation(pages, of_reference):
    """The `nav` of mkdocs: a list of {title: page or list}."""
    available = [page for page in pages.documents.values() if page.endswith(".md")]
    named = {page for _, chapter in CHAPTERS for page in chapter or []}
    decisions = [page for page in available if page.startswith("decisions/") and page not in named]
    more = [page for page in available if page not in named and page not in decisions]

    def entry(page):
        return {title_of((pages.folder / page).read_text(encoding="utf-8")): page}

    out = []
    for title, chapter in CHAPTERS:
        if chapter is None:
            out.append({title: of_reference})
            continue
        entries = [entry(page) for page in chapter if page in available]
        if title == "Inside":
            entries = [*entries[:-1], {"Decisions": [*entries[-1:], *map(entry, decisions)]},
                       *([{"More": [entry(page) for page in more]}] if more else []),
                       {"Sources": [{path.relative_to(pages.project).as_posix(): page} for path, page in sorted(pages.sources.items())]}]
        out.append({title: next(iter(entries[0].values())) if chapter and len(chapter) == 1 else entries})
    return out


# -- links from code to the reference

class References:
    """Turns `xg::sum`, `nn::Linear` or `x.backward()` in the text of pages into links to the reference."""

    def __init__(self, names):
        self.addresses = names

    def find(self, code):
        """The address of what a piece of code names, or None."""
        code = html.unescape(code)
        if match := re.fullmatch(r"[a-z]\w*(\.|->)(\w+)\(.*\)", code):
            members = [prefix + match[2] for prefix in (("Tensor::", "AnyTensor::", "ShapeForms::", "InplaceForms::", "FunctionForms::") if match[1] == "." else ("Node::",))]
            return next((self.addresses[member] for member in members if member in self.addresses), None)
        match = re.fullmatch(r"((?:xg::|xgrad::)?)([A-Za-z_][\w:]*?)(<.*>)?(\(.*\))?(\{.*\})?", code)
        if not match or not match[1] and not match[4] and len(match[2]) < 3:
            return None
        return self.addresses.get(match[2])

    def link(self, text, to_root):
        """The HTML of a page with the links."""
        def linked(match):
            address = self.find(match[1])
            return f'<a href="{to_root}{address}">{match[0]}</a>' if address else match[0]

        parts = re.split(r"(<a\b.*?</a>|<h[1-6]\b.*?</h[1-6]>|<pre\b.*?</pre>)", text, flags=re.S)
        return "".join(part if number % 2 else re.sub(r"<code>([^<]*)</code>", linked, part) for number, part in enumerate(parts))
