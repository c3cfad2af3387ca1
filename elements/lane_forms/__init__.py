"""Elements compiled for lanes: the author's methods once more, on numbers of several states at once."""
