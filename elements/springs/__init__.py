"""Springs, dampers, beams and other deformable elements between ends or on hinge coordinates."""
