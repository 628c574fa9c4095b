#!/usr/bin/env python3
"""Copies a documentation catalogue and converts its links to the form that DocC expects: docc-links.py CATALOGUE COPY

In the sources, a link names a file, so that it works on GitHub. In the copy, a link to an article of the same catalogue is
a `doc:` link, which DocC checks; one to the other catalogue is the path of its page; one to a file that has no
page, such as a source file, is text.
"""

import pathlib
import re
import shutil
import sys

if len(sys.argv) != 3:
    sys.exit("usage: docc-links.py CATALOGUE COPY")
source, copy = map(pathlib.Path, sys.argv[1:])


def slug(title):
    """A heading's anchor on GitHub."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def doc_anchor(article, fragment):
    """A heading's anchor in DocC, which keeps its capitals."""
    for title in re.findall(r"^#+ (.*)$", article.read_text(encoding="utf-8"), re.MULTILINE):
        if slug(title) == fragment:
            return "#" + re.sub(r"[^\w\-]", "", title.replace(" ", "-"))
    sys.exit(f"docc-links: {article} has no heading for #{fragment}")


def link(match):
    text, path, _, fragment = match.groups()
    target = (source / path).resolve()
    if target.parent == source.resolve() and target.exists():
        return f"[{text}](doc:{target.stem}{doc_anchor(target, fragment) if fragment else ''})"
    if target.suffix == ".md" and target.parent.suffix == ".docc" and target.exists():
        library = target.parent.stem.lower()
        page = f"/documentation/{library}"
        return f"[{text}]({page if target.stem.lower() == library else f'{page}/{target.stem.lower()}'})"
    return text


shutil.copytree(source, copy)
for article in copy.glob("*.md"):
    content = article.read_text(encoding="utf-8")
    article.write_text(re.sub(r"\[([^]]+)\]\(((?!https?:|doc:)[^)#\s]+)(#([^)\s]+))?\)", link, content), encoding="utf-8")
