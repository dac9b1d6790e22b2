"""Names, parameters and defaults that users rely on change on purpose only."""

import difflib

from public_surface import COMMAND, FROZEN, surface


def test_the_public_surface_is_the_one_that_was_promised():
    promised = FROZEN.read_text(encoding="utf-8").splitlines()
    found = surface().splitlines()
    changes = difflib.unified_diff(promised, found, FROZEN.name, "found", n=4, lineterm="")
    assert found == promised, (
        "what users see of intensor has changed; if that is meant, add an entry to CHANGELOG.md "
        f"and rewrite the file with  {COMMAND}\n" + "\n".join(changes)
    )
