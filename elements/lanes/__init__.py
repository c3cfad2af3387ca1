"""Numbers of several states at once: the third scalar type of compiled code, beside doubles and dual numbers."""
