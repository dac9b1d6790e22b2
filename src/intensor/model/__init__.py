"""The result of a fit: boxes and components, with transform, baseline and remainder."""
