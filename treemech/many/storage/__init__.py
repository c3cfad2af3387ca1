"""Results of many runs on the disk, in blocks that are written whole or not at all."""
