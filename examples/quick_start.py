"""Quick start: fill the gaps of an array, look at the boxes, check the certificate, save.

What one learns: ``intensor.complete`` takes an array with NaN and gives it back without; the fit
beside it is a short list of boxes, predicts any cell, and proves how close to the best it is.
"""

import tempfile
from pathlib import Path

import numpy as np

import intensor


def main() -> None:
    """Complete a small table of sales by shop, product and season."""
    winter = np.array([1.0, 1.0, 0.0, 0.0])
    umbrellas, all_goods = np.array([1.0, 0.0, 0.0]), np.ones(3)
    large_shops, all_shops = np.array([1.0, 1.0, 0.0, 0.0, 0.0]), np.ones(5)
    sales = 20.0 * np.einsum("i,j,k->ijk", all_shops, all_goods, np.ones(4))
    sales += 30.0 * np.einsum("i,j,k->ijk", all_shops, umbrellas, winter)
    sales += 50.0 * np.einsum("i,j,k->ijk", large_shops, all_goods, np.ones(4))

    gaps = sales.copy()
    gaps[np.random.default_rng(0).uniform(size=gaps.shape) < 0.5] = np.nan
    completed, fit = intensor.complete(gaps, radius=100.0, rtol=1e-10)

    print(f"{np.isnan(gaps).sum()} of {gaps.size} cells were missing")
    print(f"largest error of a filled cell: {np.abs(completed - sales).max():.2g}")
    print(f"status {fit.status}: mean squared error {fit.objective:.2g}, proven gap {fit.gap:.2g}")
    for box in fit.model:
        if box.weight > 0.01:
            shops, goods, seasons = (indices.tolist() for indices in box.indices)
            print(f"{box.weight:5.1f} in shops {shops}, goods {goods}, seasons {seasons}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.npz"
        fit.save(path)
        again = intensor.load(path)
    print(f"predicted by the saved model: {again.predict([[0, 0, 0]])[0]:.1f}")


if __name__ == "__main__":
    main()
