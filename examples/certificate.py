"""Certificate: what a proven gap says, where it comes from, and how to check it yourself.

What one learns: objective, bound and gap; that the free bound proves little on noisy data and
an exact oracle proves nearly all; that ``verify`` recomputes everything from the data and sees a
model that has been tampered with; that small error on known cells is not what it promises.
"""

from dataclasses import replace

import intensor


def main() -> None:
    """Solve a small noisy problem with and without an exact oracle, then try to cheat."""
    data = intensor.planted((8, 8, 8), 300, noise=0.1)
    print("300 noisy observations of a tensor of 512 cells, radius 1")
    for exact in ("off", "enumeration"):
        result = intensor.solve(
            data.coords, data.values, shape=data.shape, radius=1.0, rtol=1e-5, exact=exact
        )
        print(
            f"exact={exact!r:14s} {result.status!s:8s} objective {result.objective:.6f}  "
            f"bound {result.bound:.6f}  proven by {result.bound_source}"
        )

    report = intensor.verify(result, data.coords, data.values)
    print("\nrecomputed from the observations:")
    print(report)

    boast = replace(result, bound=1.001 * result.objective)
    print("\na bound that is a little too good to be true:")
    print(intensor.verify(boast, data.coords, data.values).failures[0])
    heavier = replace(result.model, weights=result.model.weights + 0.01)
    print("\na model with heavier boxes:")
    for failure in intensor.verify(
        replace(result, model=heavier), data.coords, data.values
    ).failures:
        print(failure)

    truth = intensor.nmse(result.model, data.truth)
    print(f"\nnot part of the proof: the normalised error against the true tensor, {truth:.3f}")


if __name__ == "__main__":
    main()
