"""Files of our own: read with distrust, within limits, and written whole or not at all."""
