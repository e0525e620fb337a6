"""A browser for tests of pages."""

import base64
import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--hide-scrollbars", "--remote-debugging-pipe"]
PATIENCE = 60.0  # seconds


class Browser:
    """Chromium without a window, told what to do through two pipes."""

    def __init__(self, profile: Path) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # the browser reads from 3 and writes to 4; ends elsewhere survive the renaming
        high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]

        def rename() -> None:
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [str(FOUND), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            command,
            preexec_fn=rename,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (theirs_in, theirs_out, *high):
            os.close(end)
        self.reading, self.writing = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None
        self.number = 0
        (target,) = [
            one
            for one in self.call("Target.getTargets")["targetInfos"]
            if one["type"] == "page"
        ]  # fmt: skip
        about = {"targetId": target["targetId"], "flatten": True}
        self.session = self.call("Target.attachToTarget", **about)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Result of a command; events that come in between are kept."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.writing.write(json.dumps(message).encode() + b"\0")
        self.writing.flush()
        while (answer := self._next()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _next(self) -> dict[str, Any]:
        text = bytearray()
        while (sign := self.reading.read(1)) != b"\0":
            assert sign, "the browser has ended"
            text += sign
        found: dict[str, Any] = json.loads(text)
        return found

    def run(self, expression: str) -> Any:
        """Value of a JavaScript expression in the page."""
        options = {"returnByValue": True, "awaitPromise": True, "userGesture": True}
        found = self.call("Runtime.evaluate", expression=expression, **options)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Waits until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(expression):
            assert time.monotonic() < end, f"never came true: {expression}"
            time.sleep(0.05)

    def window(self, width: int, height: int = 900, dark: bool = False) -> None:
        """Sets the size of the window, and which colours the system has."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path) -> None:
        """Opens a file."""
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def picture(self, path: Path) -> None:
        """Writes what the window shows."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self) -> None:
        """Ends the browser."""
        with contextlib.suppress(OSError, AssertionError):
            self.session = None
            self.call("Browser.close")
        self.process.wait(PATIENCE)
        self.reading.close()
        with contextlib.suppress(OSError):
            self.writing.close()
