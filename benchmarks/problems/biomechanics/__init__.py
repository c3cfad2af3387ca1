"""Bodies moved by muscles."""
