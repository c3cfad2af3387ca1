"""Model families that scale, and mechanisms with parameters."""
