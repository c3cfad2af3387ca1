"""Actuators: electric motor, servo, PID drive and hydraulic actuator."""
