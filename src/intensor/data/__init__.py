"""First stage of the flow: observations in, unique cells out."""
