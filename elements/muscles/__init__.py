"""Hill-type muscles and their parts: contractile element, tendon and characteristic curves."""
