"""Elements made of other elements: hinges in series, and constraints inside such a series."""
