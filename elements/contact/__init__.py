"""Contact elements: friction, sphere contact, traction, bearings and tires."""
