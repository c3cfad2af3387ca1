"""Take the pictures of the viewer that stand in the documentation: `python -m tests.browser.pictures [names]`, with a Chromium."""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np

import treemech as tm
from tests.browser.models import MODELS
from tests.support.chromium import Browser
from tests.support.places import ROOT


def four_bar():
    return tm.examples.find("four_bar").run()


def car():
    return tm.examples.find("road_vehicle").run()


# name of the picture, the run, the address, options of animate
PICTURES = {
    "four-bar": (four_bar, "t=4.2&show=names", {"traces": [("coupler", (1.5, 0, 0.6))]}),
    "pump": (MODELS["pump"], "t=0.052", {}),
    "leg": (MODELS["leg"], "t=0.3&theme=light", {}),
    "tires": (car, "t=1.2&show=loads", {}),
    "chain": (MODELS["chain"], "t=0.9", {}),
    "foreign": (MODELS["foreign"], "t=1.1&chart", {"signals": ["cam.q", "pin.q"]}),
    "crane": (MODELS["crane"], "t=3.5&show=traces", {}),
    "a02": (MODELS["a02"], "t=1.5&theme=dark", {}),
}


def main(names):
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder, Browser(900, 560) as browser:
        for name in names or PICTURES:
            make, address, options = PICTURES[name]
            browser.open(make().animate(Path(folder, f"{name}.html"), **options), address)
            browser.settle()
            picture = Image.open(io.BytesIO(browser.picture())).convert("RGB")
            colours = len(np.unique(np.asarray(picture).reshape(-1, 3), axis=0))
            picture.save(ROOT / "docs" / f"view-{name}.webp", quality=88, method=6)
            print(f"docs/view-{name}.webp: {colours} colours, {browser.messages}")


if __name__ == "__main__":
    main(sys.argv[1:])
