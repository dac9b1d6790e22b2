"""Pictures of a fit, drawn with matplotlib.

Every function draws on the axes or the figure that it is given, or on a new figure that no window
system knows of. Such a figure can be saved with ``savefig`` in any thread, and nothing is shown.
"""

from intensor.plots.accuracy import residuals
from intensor.plots.completion import slices
from intensor.plots.curves import convergence, radius_path
from intensor.plots.membership import boxes
from intensor.plots.profiles import components

__all__ = ["boxes", "components", "convergence", "radius_path", "residuals", "slices"]
