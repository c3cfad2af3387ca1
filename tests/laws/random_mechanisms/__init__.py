"""Laws on random mechanisms of every kind."""
