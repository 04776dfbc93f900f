#!/usr/bin/env python3
"""Builds the site with tools/docs, compares the reference with the headers, and looks at pages in headless Chromium.

usage: site_test.py FOLDER          a folder to build in
Ends with 77, which is skipped, where mkdocs-material, doxygen or Chromium is not installed.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(PROJECT / "tools"), str(PROJECT / "tools/site"), str(PROJECT / "tests/support")]
import browser
import cpp_declarations
import cpp_source
import links
import reference

LOOKED_AT = ("", "tutorial/", "gallery/", "autograd/hooks/", "reference/tensor/tensor/")
SEARCHED = ("register_hook", ["autograd/hooks/", "reference/tensor/tensor/#Tensor.register_hook"])


def missing_tools():
    chromium = browser.find_chromium()
    missing = [name for name, found in (("mkdocs", shutil.which("mkdocs")), ("doxygen", shutil.which("doxygen")), ("chromium", chromium)) if not found]
    if not missing:
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "docs").mkdir()
            pathlib.Path(folder, "mkdocs.yml").write_text("site_name: x\ntheme: material\n")
            if "Unrecognised theme" in subprocess.run(["mkdocs", "build"], cwd=folder, capture_output=True, encoding="utf-8").stderr:
                missing.append("mkdocs-material")
    return missing, chromium


# -- the reference

def public_names():
    """{name: header} of what tools/cpp_declarations.py finds, which knows nothing of doxygen."""
    names = {}
    for path in sorted((PROJECT / "include").rglob("*.hpp")):
        for each in cpp_declarations.Declarations(cpp_source.read(path)).found:
            if each.public and each.space.startswith("xgrad") and not cpp_declarations.INTERNAL.search(each.space):
                names |= {(each.space + each.inside + name).removeprefix("xgrad::"): path.name for name in each.names if cpp_declarations.is_listed(each.kind, name)}
    return names


def names_without_entry(site):
    anchors = set().union(*(links.Page(path.read_text(encoding="utf-8")).anchors for path in (site / "reference").rglob("*.html")))
    names = public_names()
    assert len(names) > 1500, f"only {len(names)} public names were found"
    return [f"{header}: {name} has no entry in the reference" for name, header in names.items()
            if reference.Entry(name, "", "", 0).anchor not in anchors]


def entries_without_comment(xml):
    found = reference.described(PROJECT, xml)
    count = len(reference.every_entry(found))
    assert count > 2500, f"only {count} entries were found"
    return [f"{entry.header}: {entry.name} has no comment in the reference" for entry in reference.without_comment(found)], count


# -- pages in Chromium

def faults(page, address):
    """What the console was told, and what was fetched from elsewhere."""
    return page.complaints(("error", "assert")) + [f"fetched: {url}" for url in page.requests() if not url.startswith((address, "data:", "blob:"))]


def look_at(page, address):
    wrong = []

    def expect(condition, sentence):
        if not condition:
            wrong.append(sentence)

    for name in LOOKED_AT:
        page.open(address + name)
        here = "/" + name
        heading = page.run("document.querySelector('article h1')?.innerText")
        expect(heading, f"{here} has no heading")
        size = page.run("(r => [r.width, r.height])(document.querySelector('article').getBoundingClientRect())")
        expect(size[0] > 400 and size[1] > 600, f"{here}: the text is {size[0]} x {size[1]} pixels")
        broken = page.run("[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)")
        expect(not broken, f"{here}: pictures are not shown: {broken}")
        expect(page.run("getComputedStyle(document.querySelector('.md-header')).position") == "sticky", f"{here} has no style")
        wrong.extend(f"{here}: {fault}" for fault in faults(page, address))

    query, expected = SEARCHED
    results = "[...document.querySelectorAll('.md-search-result__item a')].map(link => link.href)"
    for _ in range(4):          # what is typed before the index is there has no results
        page.open(address)
        page.wait_for("document.querySelector('.md-search-result__meta')?.innerText.startsWith('Type to')", 20)
        page.run(f"""(field => {{
            field.focus();
            field.value = {json.dumps(query)};
            field.dispatchEvent(new Event('keyup', {{bubbles: true}}));
        }})(document.querySelector('[data-md-component=search-query]'))""")
        found = page.wait_for(f"""(results => {{
            const pages = results.map(result => result.replace(/[?]h=[^#]*/, ''));
            return {json.dumps([address + each for each in expected])}.every(each => pages.some(page => page == each || page.startsWith(each + '#')));
        }})({results})""", 20)
        if found:
            break
    expect(found, f"the search for {query} finds {page.run(results)}, and not {expected}")
    light = page.run("getComputedStyle(document.body).backgroundColor")
    page.run("document.querySelectorAll('input[name=__palette]')[1].click()")
    dark = page.wait_for("document.body.getAttribute('data-md-color-scheme') == 'slate' && getComputedStyle(document.body).backgroundColor")
    expect(dark and dark != light, f"dark mode has the background {dark}, and light mode {light}")
    wrong.extend(f"search and dark mode: {fault}" for fault in faults(page, address))
    return wrong


def main():
    missing, chromium = missing_tools()
    if missing:
        print(f"skipped: {', '.join(missing)} not installed")
        return 77
    output = pathlib.Path(sys.argv[1]).resolve()
    build = subprocess.run([sys.executable, str(PROJECT / "tools/docs"), "--output", str(output)])
    if build.returncode:
        return build.returncode
    site = output / "site"
    wrong = names_without_entry(site)
    without_comment, entries = entries_without_comment(output / "doxygen/xml")
    wrong += without_comment
    with browser.Server(site) as server:
        page = browser.Browser(chromium)
        try:
            wrong += look_at(page, server.address)
        finally:
            page.close()
    print(*wrong, f"site: {len(wrong)} faults; {len(public_names())} public names were compared, {len(without_comment)} of {entries} entries have no comment, "
          f"and {len(LOOKED_AT)} pages were looked at", sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
