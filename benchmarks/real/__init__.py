"""Real data: tasks, published figures, and how intensor does on them."""
