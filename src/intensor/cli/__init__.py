"""The command line: ``intensor fit``, ``predict``, ``complete``, ``verify``, ``report`` and more.

Every command is a module. Nothing here imports the solver, or anything else that is heavy,
before a command needs it, so that ``intensor --help`` answers at once.
"""

from intensor.cli.app import main

__all__ = ["main"]
