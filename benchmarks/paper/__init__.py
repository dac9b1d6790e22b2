"""The paper: its instances, tables and figures, work and sample complexity."""
