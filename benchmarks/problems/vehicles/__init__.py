"""What rolls, steers and is sprung."""
