"""Kelem's lens polisher (MSc thesis, Addis Ababa 2009): its motion, its statistics, its design study."""
