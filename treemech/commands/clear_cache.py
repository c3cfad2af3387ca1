"""Remove all cached compiled code."""

from argparse import ArgumentParser, Namespace

from . import Outcome

EXAMPLES = ("treemech clear-cache",)


def arguments(parser: ArgumentParser) -> None:
    """There are none."""


def run(given: Namespace) -> Outcome:
    from treemech.elements.native.cache import clear_cache
    from treemech.elements.native.place import cache_root

    removed = clear_cache()
    return Outcome(
        [f"removed {removed} files of cached code"], {"removed": removed, "folder": str(cache_root())}
    )
