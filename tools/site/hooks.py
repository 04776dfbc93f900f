"""What mkdocs calls while it builds the site."""

import json
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]
import pages

references = None


def on_config(config):
    global references
    references = pages.References(json.loads((pathlib.Path(config["docs_dir"]).parent / "names.json").read_text()))
    return config


def on_page_content(html, page, config, files):
    if page.file.src_path.startswith(("reference", "sources")):
        return html
    return references.link(html, "../" * page.url.rstrip("/").count("/") + ("../" if page.url.rstrip("/") not in ("", ".") else ""))
