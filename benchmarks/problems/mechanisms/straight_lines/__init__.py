"""Linkages that guide a point along a straight line."""
