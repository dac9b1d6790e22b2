"""``python -m intensor``: the same as the ``intensor`` command."""

import sys

from intensor.cli import main

if __name__ == "__main__":
    sys.exit(main())
