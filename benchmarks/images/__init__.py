"""Pictures with missing values."""
