"""Many states, steps and runs at once, beside other libraries."""
