"""The instructor's and the student's way through a real JupyterLab, in headless Chromium.

Set LAB_SHOTS to a folder to keep a picture of every step.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("chromium is not installed: apt-get install chromium", allow_module_level=True)
pytest.importorskip("nbgrader", reason="nbgrader is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from grader.course import CONFIG, example_class, making  # noqa: E402 - it needs nbgrader

# The student's way begins with what the instructor's way has made.
pytestmark = pytest.mark.full(together="lab", seconds=60)

FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
MEMBERS = tuple(member for member in example_class.MEMBERS if member.name in ("bela", "jana"))
WAIT = 60_000


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lab") / "course"
    making.make(folder, "ps1", ["masks", "attention", "layer_norm"])
    isolation = "jail" if shutil.which("bwrap") and sys.platform == "linux" else "process"
    with (folder / CONFIG).open("a") as file:
        file.write(
            f"c.Submitted.isolation = {isolation!r}\nc.Exchange.root = '{folder.parent}/ex'\n"
        )
    return folder


@pytest.fixture(scope="module")
def lab(course: Path) -> Iterator[str]:
    """The address of a JupyterLab that serves the course."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    paths = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    home = course.parent / "home"
    home.mkdir()
    environment = {**os.environ, "PATH": paths, "PYTHONPATH": str(ROOT), "HOME": str(home)}
    command = [
        *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"),
        *("--ip=127.0.0.1", f"--port={port}", f"--ServerApp.root_dir={course}"),
        "--IdentityProvider.token=",
    ]
    log = (course.parent / "lab.log").open("w")
    with log, subprocess.Popen(command, cwd=course, env=environment, stderr=log) as process:
        try:
            _wait_for(f"{address}/api", process)
            yield address
        finally:
            process.terminate()


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, "JupyterLab ended"
        try:
            urllib.request.urlopen(address, timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("JupyterLab did not start")


@pytest.fixture
def page(lab: str) -> Iterator[Any]:
    """A browser that reaches nothing but the lab."""
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1500, "height": 1100})
        page.set_default_timeout(WAIT)
        page.route(
            lambda url: not url.startswith((lab, "data:", "blob:")), lambda route: route.abort()
        )
        yield page
        browser.close()


def picture(page: Any, name: str) -> None:
    folder = os.environ.get("LAB_SHOTS")
    if folder:
        page.wait_for_timeout(700)
        page.screenshot(path=Path(folder) / f"{name}.png")


def open_formgrader(page: Any, lab: str) -> Any:
    page.goto(f"{lab}/lab?reset")
    page.get_by_role("menuitem", name="Nbgrader").click()
    page.get_by_role("menuitem", name="Formgrader").click()
    return page.frame_locator("iframe").first


def open_notebook(page: Any, lab: str, path: str) -> None:
    page.goto(f"{lab}/lab/tree/{path}?reset")
    page.locator(".jp-Notebook .jp-CodeCell").first.wait_for()


def test_the_instructors_way(page: Any, lab: str, course: Path) -> None:
    """Create, generate, autograde, open a submission, see the feedback."""
    open_notebook(page, lab, "source/ps1/ps1.ipynb")
    page.get_by_role("tab", name="Create Assignment").click()
    picture(page, "instructor-1-create")
    total = page.locator("input.nbgrader-TotalPointsInput, .nbgrader-TotalPointsInput input").first
    assert total.input_value() == "35"

    formgrader = open_formgrader(page, lab)
    row = formgrader.locator("tr", has_text="ps1")
    picture(page, "instructor-2-formgrader")
    row.locator("td.assign a").click()
    formgrader.get_by_text("Successfully").first.wait_for()
    picture(page, "instructor-2-generate")
    assert (course / "release" / "ps1" / "ps1.ipynb").exists()
    example_class.hand_in(course, "ps1", MEMBERS)

    formgrader = open_formgrader(page, lab)
    formgrader.locator("tr", has_text="ps1").locator("td.num-submissions a").click()
    bela = formgrader.locator("tr", has_text="bela")
    for member in MEMBERS:
        first = formgrader.locator("tr", has_text=member.name)
        first.locator("td.autograde a").click()
        formgrader.get_by_text("Successfully").first.wait_for()
        picture(page, f"instructor-3-autograde-{member.name}")
        formgrader.locator(".modal.in button.close, .modal.in [data-dismiss]").first.click()
        formgrader.locator(".modal.in").wait_for(state="hidden")
    playwright.expect(bela.locator("td.score")).to_contain_text("/ 35")
    picture(page, "instructor-4-scores")
    bela.locator("td.student-name a").click()
    formgrader.locator("td.name a").click()
    message = formgrader.get_by_text("divided by d_k, not by its square root").first
    message.scroll_into_view_if_needed()
    picture(page, "instructor-5-submission")


def test_the_students_way(page: Any, lab: str, course: Path) -> None:
    """Open the release, fill a cell, run it, press Validate, see the message."""
    desk = course / "desk"
    desk.mkdir()
    shutil.copy(course / "release" / "ps1" / "ps1.ipynb", desk)
    open_notebook(page, lab, "desk/ps1.ipynb")
    source = example_class.solved(course, "ps1")
    answer = example_class.find(source.cells, "attention").source
    wrong = answer.replace("math.sqrt(query.size(-1))", "query.size(-1)")
    masks = page.get_by_alt_text(re.compile("^Three grids")).first
    masks.scroll_into_view_if_needed()
    assert masks.evaluate("image => image.naturalWidth") == 720
    cell = page.locator(".jp-CodeCell", has_text=re.compile(r"def attention\(")).first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.evaluate("text => document.execCommand('insertText', false, text)", wrong)
    picture(page, "student-1-filled")
    # What is asked of a kernel before it is there may get lost.
    playwright.expect(page.locator(".jp-Notebook-ExecutionIndicator")).to_have_attribute(
        "data-status", "idle", timeout=WAIT
    )
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    message = page.get_by_text("attention: wrong").first
    message.scroll_into_view_if_needed()
    picture(page, "student-2-message")
    page.wait_for_timeout(3000)
    page.get_by_role("button", name="Validate").click()
    dialog = page.locator(".jp-Dialog")
    playwright.expect(dialog).to_contain_text("attention: wrong", timeout=WAIT)
    picture(page, "student-3-validate")
