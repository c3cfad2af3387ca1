"""A headless Chromium, driven by the DevTools protocol over a pipe: no other package is needed."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

FLAGS = [
    "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions", "--disable-default-apps", "--mute-audio", "--hide-scrollbars", "--force-device-scale-factor=1",
    "--remote-debugging-pipe", "--allow-file-access-from-files",
]  # fmt: skip
SOFTWARE = [
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]
WITHOUT_WEBGL = ["--disable-gpu", "--disable-3d-apis"]


def chromium():
    """Return the path of a Chromium, or None."""
    found = os.environ.get("TREEMECH_CHROMIUM")
    return found or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
    )


class Browser:
    """One browser with one page; a context manager."""

    def __init__(self, width=1200, height=760, webgl=True):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()

        def connect():  # the browser reads descriptor 3 and writes descriptor 4
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        command = [chromium(), *FLAGS, *(SOFTWARE if webgl else WITHOUT_WEBGL), f"--user-data-dir={self.folder.name}",
                   f"--window-size={width},{height}", "about:blank"]  # fmt: skip
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=connect,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self.session = b"", 0, None
        self.messages, self._left = [], []
        (target,) = (t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close", patience=5.0)
        except (TimeoutError, OSError, RuntimeError):
            pass
        try:
            self.process.wait(5.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._write)
        os.close(self._read)
        self.folder.cleanup()

    # ------------------------------------------------------------ protocol
    def _receive(self, until):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            more = os.read(self._read, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._buffer += more
        one, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(one)

    def call(self, method, patience=60.0, **parameters):
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + patience
        while True:
            answer = self._receive(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer.get("result", {})
            self._notice(answer)

    def _notice(self, event):
        method, data = event.get("method"), event.get("params", {})
        if method == "Runtime.consoleAPICalled" and data["type"] in ("error", "warning", "assert"):
            self.messages.append(" ".join(str(a.get("value", a.get("description"))) for a in data["args"]))
        elif method == "Runtime.exceptionThrown":
            details = data["exceptionDetails"]
            self.messages.append(str(details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded" and data["entry"]["level"] in ("error", "warning"):
            text = data["entry"]["text"]
            if "GPU stall due to ReadPixels" not in text:  # of our own screenshots
                self.messages.append(text)

    # ------------------------------------------------------------ a page
    def open(self, path, fragment=""):
        """Open a file and wait until its viewer is ready."""
        self.messages.clear()
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=Path(path).resolve().as_uri() + (f"#{fragment}" if fragment else ""))
        self.wait("window.viewer && window.viewer.ready && document.readyState === 'complete'")
        self.settle()
        return self

    def run(self, script):
        """Return the value of an expression of the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, condition, patience=30.0):
        until = time.monotonic() + patience
        while not self.run(f"!!({condition})"):
            if time.monotonic() > until:
                raise TimeoutError(f"waited {patience} s for {condition}: {self.messages}")
            time.sleep(0.03)

    def settle(self):
        """Wait for two drawings of the page."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def picture(self, path=None):
        """Return a screenshot as PNG, written to a path if one is given."""
        content = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            Path(path).write_bytes(content)
        return content

    def pixels(self):
        """Return a screenshot as an array (height, width, 3)."""
        import io

        import numpy as np
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.picture())).convert("RGB"), dtype=int)

    def click(self, selector):
        self.run(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def press(self, x, y, to=None):
        """Press the mouse at a point, and drag it to another one."""
        for kind, at in (
            ("mousePressed", (x, y)),
            *((("mouseMoved", to),) if to else ()),
            ("mouseReleased", to or (x, y)),
        ):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=at[0],
                y=at[1],
                button="left",
                buttons=1,
                clickCount=1,
            )
        self.settle()

    def key(self, key):
        self.run(f"dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true}}))")
        self.settle()
