"""The page in a browser: nothing is cut off on a desktop, on a phone, or on paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from html import unescape
from json import loads
from pathlib import Path
from typing import Any

import pytest
from small_results import RESULTS, every_page, html_of

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome is installed"),
    pytest.mark.thorough,  # `make browser` runs them
]

DESKTOP, PHONE = 1280, 390
"""Widths in CSS pixels."""

MEASURE = """
<script>
addEventListener("load", () => {
  const root = document.scrollingElement, wide = [];
  const scrolls = (e) => e && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
  for (const e of document.querySelectorAll("body *")) {
    const box = e.getBoundingClientRect();
    if (box.width && box.right > root.clientWidth + 1 && !scrolls(e.parentElement) && !e.closest("thead"))
      wide.push(e.tagName + "." + e.className);
  }
  const math = [...document.querySelectorAll("math")].map((e) => e.getBoundingClientRect().height);
  document.title = JSON.stringify({
    width: root.clientWidth, content: root.scrollWidth, wide, math: math.filter((h) => h > 0).length,
    errors: document.querySelectorAll("merror, parsererror").length,
    moved: [...document.querySelectorAll(".picture")].filter((e) => e.scrollWidth > e.clientWidth).length,
    words: Math.max(...[...document.querySelectorAll(".word")].map((e) => Math.round(e.offsetHeight / 24))),
    letters: Math.min(...[...document.querySelectorAll("svg")].filter((e) => e.getBoundingClientRect().width).map(
      (e) => 10 * e.getBoundingClientRect().width / e.viewBox.baseVal.width)),
  });
});
</script>
"""
"""Measurements in a copy of the page: its width and that of what is in it, and how large letters of 10 points are."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Run the browser with a profile of its own."""
    profile = tmp_path_factory.mktemp("profile")

    def run(*arguments: object) -> str:
        fixed = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        command = [str(CHROMIUM), *fixed, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    return run


def measured_at(browser: Callable[..., str], folder: Path, html: str, width: int, unfolded: bool) -> dict[str, Any]:
    """Measure a page in a frame, because the narrowest window of the browser is too wide."""
    measured_html = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', MEASURE, html)
    measured_html = re.sub(r"<details(?! [^>]*open)", "<details open", measured_html) if unfolded else measured_html
    (folder / "page.html").write_text(measured_html)
    frame = '<title>outside</title><iframe src="page.html" style="width:{}px; height:2000px; border:0"></iframe>'
    copy = '<script>onload = () => {document.title = document.querySelector("iframe").contentDocument.title}</script>'
    (folder / "frame.html").write_text(frame.format(width) + copy)
    place = folder / "frame.html"
    page_source = browser("--allow-file-access-from-files", "--window-size=1400,2000", "--dump-dom", f"file://{place}")
    (title,) = re.findall(r"<title>(.*?)</title>", page_source, re.DOTALL)
    return loads(unescape(title))


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("case", ["entropy", "infeasible", "contradicting", "measured"])
def test_nothing_reaches_beyond_the_window(browser: Callable[..., str], tmp_path: Path, case: str, width: int) -> None:
    measurements = measured_at(browser, tmp_path, html_of(RESULTS[case]()), width, unfolded=True)
    assert measurements["width"] == width
    assert measurements["content"] <= width, measurements
    assert measurements["wide"] == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_pictures_are_legible(browser: Callable[..., str], tmp_path: Path, width: int) -> None:
    measurements = measured_at(browser, tmp_path, html_of(RESULTS["entropy"]()), width, unfolded=False)
    # Letters of 10 points in the picture, in CSS pixels: 16 are those of the text beside it.
    assert measurements["letters"] >= 10, measurements


def test_on_a_phone_no_picture_has_to_be_moved_and_no_option_is_broken(
    browser: Callable[..., str], tmp_path: Path
) -> None:
    measurements = measured_at(browser, tmp_path, html_of(RESULTS["measured"]()), PHONE, unfolded=False)
    assert measurements["moved"] == 0
    assert measurements["words"] == 1


def test_every_formula_is_laid_out(browser: Callable[..., str], tmp_path: Path) -> None:
    html = html_of(every_page())
    measurements = measured_at(browser, tmp_path, html, DESKTOP, unfolded=True)
    assert measurements["errors"] == 0
    assert measurements["math"] == html.count("<math") > 300
    assert measurements["content"] <= DESKTOP and measurements["wide"] == []


def test_on_paper_everything_is_unfolded_but_the_logs(browser: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(html_of(RESULTS["measured"]()))
    out = tmp_path / "page.pdf"
    browser(f"--print-to-pdf={out}", "--no-pdf-header-footer", f"file://{tmp_path / 'page.html'}")
    content = out.read_bytes()
    assert content.startswith(b"%PDF-")
    unfolded = len(re.findall(rb"/Type\s*/Page\b", content))
    assert 4 <= unfolded <= 16
    # Folded by hand, and kept so on paper, it is shorter.
    (tmp_path / "page.html").write_text(html_of(RESULTS["measured"]()).replace("details::details-content", "none"))
    browser(f"--print-to-pdf={out}", "--no-pdf-header-footer", f"file://{tmp_path / 'page.html'}")
    assert len(re.findall(rb"/Type\s*/Page\b", out.read_bytes())) < unfolded
