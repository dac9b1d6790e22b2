"""Files of our own: read with distrust and within limits, written completely or not at all."""
