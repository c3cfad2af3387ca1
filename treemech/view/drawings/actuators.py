"""How actuators are drawn: hydraulic cylinders between points, motors on hinges."""

from typing import Any

MOTOR = "#e0b13a"


def hydraulic(element: Any, seen: Any) -> list[Any]:
    return [{"kind": "piston"}]


def motor(element: Any, seen: Any) -> list[Any]:
    """Draw a motor beside the pin of a turning hinge, or on the rail of a sliding one."""
    g = seen.girth
    if seen.turns and not seen.turns[0]:
        return [
            {
                "kind": "box",
                "size": (2.2 * g, 2.2 * g, 3.0 * g),
                "offset": (0.0, 0.0, -3.0 * g),
                "color": MOTOR,
            }
        ]
    return [
        {
            "kind": "cylinder",
            "radius": 1.7 * g,
            "length": 2.6 * g,
            "offset": (0.0, 0.0, 3.2 * g),
            "color": MOTOR,
        },
        {
            "kind": "cylinder",
            "radius": 1.1 * g,
            "length": 0.8 * g,
            "offset": (0.0, 0.0, 4.9 * g),
            "color": "#4a5463",
        },
    ]


DRAWINGS = {
    "HydraulicActuator": hydraulic,
    "ElectricMotor": motor,
    "PositionServo": motor,
    "Pid": motor,
    "Actuator": motor,
}
