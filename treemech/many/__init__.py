"""Many at once: batches of motions stepped together, and many runs over cores and clusters."""
