"""Options: one declaration each, with its default, its check and its documentation."""
