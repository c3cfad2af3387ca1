"""The same models in other libraries: Pinocchio, MuJoCo, Drake and Exudyn."""
