"""For mkdocs: the studies of benchmarks/studies are pages of the site, and links to them are as they are in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

STUDIES = Path("benchmarks/studies")


def on_files(files: Files, config: Any) -> Files:
    """Returns the pages of docs/ with the studies as ``studies/``."""
    root = Path(config.config_file_path).parent
    for study in sorted((root / STUDIES).glob("*.md")):
        files.append(
            File(f"studies/{study.name}", str(root / STUDIES.parent), config.site_dir, config.use_directory_urls)
        )
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Returns a page's text with links between docs/ and the studies as they are on the site."""
    return re.sub(r"\]\(((?:\.\./)*)\.\./benchmarks/studies/", r"](\1studies/", markdown).replace(
        "](../../docs/", "](../"
    )
