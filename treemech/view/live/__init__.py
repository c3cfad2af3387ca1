"""A live view in the browser, by viser (an extra): sliders, points to drag, runs and parameters."""
