"""Cords through via points, and the surfaces that they wrap on."""
