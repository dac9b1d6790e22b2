"""The result of a fit: a weighted sum of boxes, with transform, baseline and remainder."""
