"""Pictures of a fit with matplotlib, which comes with the extra ``intensor[plots]``.

Every function draws into axes or a figure that it is given, or into a new figure of its own that
no window system knows of: it can be saved with ``savefig`` in any thread, and nothing is shown.
"""

from intensor.plots.completion import slices
from intensor.plots.curves import convergence, radius_path
from intensor.plots.errors import residuals
from intensor.plots.membership import boxes

__all__ = ["boxes", "convergence", "radius_path", "residuals", "slices"]
