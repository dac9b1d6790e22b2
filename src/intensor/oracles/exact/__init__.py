"""The exact search for the vertex of least cost, without an outside solver."""
