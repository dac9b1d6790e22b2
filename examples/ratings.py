"""Ratings: a table of users, films and weeks, most of whose cells nobody has rated.

What one learns: tables keep their labels; everything is chosen on held-out ratings, which also say
what error to expect; ratings that were put aside tell whether it worked; users without a rating
need a rule.
"""

import numpy as np
import pandas as pd

import intensor
from intensor.containers.frames import predict_frame

USERS, FILMS, WEEKS = 60, 40, 4


def make_ratings(n: int, seed: int) -> pd.DataFrame:
    """Draw ratings of 1 to 5 stars from three groups of users with tastes of their own."""
    rng = np.random.default_rng(seed)
    group, genre = rng.integers(0, 3, USERS), rng.integers(0, 3, FILMS)
    user, film, week = (rng.integers(0, length, n) for length in (USERS, FILMS, WEEKS))
    liked = group[user] == genre[film]
    stars = 2.0 + 2.0 * liked + 0.5 * (week == 0) + rng.normal(0.0, 0.4, n)
    return pd.DataFrame(
        {
            "user": [f"user{number:02d}" for number in user],
            "film": [f"film{number:02d}" for number in film],
            "week": week + 1,
            "stars": np.clip(np.round(stars), 1, 5),
        }
    )


def main() -> None:
    """Fit nine tenths of the ratings and predict the rest."""
    ratings = make_ratings(2400, seed=0)
    hidden = ratings.sample(frac=0.1, random_state=0)
    known = ratings.drop(hidden.index)
    known.loc[known.index[0], "stars"] = np.nan  # a cell to be filled in

    completed, fit = intensor.complete(known, value="stars", exact="off")
    share = len(known) / (USERS * FILMS * WEEKS)
    print(f"{len(known)} ratings of {USERS} users, {share:.0%} of all cells")
    found = fit.validation
    print(f"expected of missing ratings: RMSE {found.expected_error:.3f} +- {found.spread:.3f}")
    print(f"the missing rating is filled with {completed['stars'].iloc[0]:.2f} stars")

    cells = hidden[["user", "film", "week"]]
    predicted = predict_frame(fit, cells, unseen="mean")["stars"].to_numpy()
    errors = {
        "intensor": predicted - hidden["stars"],
        "mean of the film": known.groupby("film")["stars"].mean().loc[hidden["film"]].to_numpy()
        - hidden["stars"],
        "mean of all": known["stars"].mean() - hidden["stars"],
    }
    for name, error in errors.items():
        print(f"RMSE on {len(hidden)} hidden ratings, {name:17s} {np.sqrt(np.mean(error**2)):.3f}")

    nobody = pd.DataFrame({"user": ["somebody new"], "film": ["film00"], "week": [1]})
    guess = predict_frame(fit, nobody, unseen="mean")["stars"].iloc[0]
    print(f"a user without ratings gets the average over users: {guess:.2f} stars")


if __name__ == "__main__":
    main()
