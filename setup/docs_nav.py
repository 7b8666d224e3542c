"""A hook of MkDocs: the site's navigation, from the folders of docs/ in the order of the links in docs/README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

#: What the navigation calls the folders, in its order.
SHELVES = {"guide": "Guide", "reference": "Reference", "method": "Method"}
#: Pages that stand beside the folders: the first before them, the last behind them.
FIRST, LAST = ("README.md", "guide/tutorial.md"), ("glossary.md",)


def on_config(config: Any) -> Any:
    """Set ``nav`` (MkDocs calls this once its configuration is read)."""
    config["nav"] = navigation(Path(config["docs_dir"]))
    return config


def navigation(docs: Path) -> list[Any]:
    """MkDocs' ``nav`` of the pages below this folder: pages as paths, folders as ``{title: pages}``.

    A page that README.md does not link comes last in its folder.
    """
    linked = re.findall(r"\]\(([\w/.-]+\.md)[)#]", (docs / "README.md").read_text(encoding="utf-8"))
    places = {path: place for place, path in reversed(list(enumerate(linked)))}
    pages = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    pages.sort(key=lambda path: places.get(path, len(linked)))
    nav: list[Any] = [page for page in FIRST if page in pages]
    for folder, title in SHELVES.items():
        nav.append({title: [page for page in pages if page.startswith(f"{folder}/") and page not in FIRST]})
    return nav + [page for page in LAST if page in pages]
