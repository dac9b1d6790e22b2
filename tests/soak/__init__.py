"""Random problems by number, solved by every version and held against a solver of their own.

    python -m tests.soak --number 137
    python -m tests.soak --first 0 --count 2000

``problems`` and ``families`` draw them, ``nearest`` knows their optimum, ``checker`` says what is
wrong with a result. Tests of a slice and of the checker itself are beside them.
"""
