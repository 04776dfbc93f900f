"""Finds dead links in a folder of HTML, and everything that a browser would fetch from other sites."""

import html.parser
import pathlib
import urllib.parse


class Page(html.parser.HTMLParser):
    FETCHED = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("link", "href")}

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.fetched = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        for name, value in attributes:
            if value and name in ("href", "src"):
                (self.fetched if (tag, name) in self.FETCHED and found.get("rel") not in ("canonical", "next", "prev") else self.links).append(value)


def dead_links(site):
    """One sentence for each fault."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    wrong = set()
    for path, page in pages.items():
        here = path.relative_to(site).as_posix()
        for link in page.links + page.fetched:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                if link in page.fetched and url.scheme != "data":
                    wrong.add(f"{here}: {link} is fetched from elsewhere")
                continue
            target = path
            if url.path:
                start = site if url.path.startswith("/") else path.parent
                target = pathlib.Path(start, urllib.parse.unquote(url.path).lstrip("/")).resolve()
                if target.is_dir():
                    target /= "index.html"
            if not target.is_file():
                wrong.add(f"{here}: there is no {link}")
            elif url.fragment and target in pages and urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                wrong.add(f"{here}: {link} names no anchor")
    return sorted(wrong)
