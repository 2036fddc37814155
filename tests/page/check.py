#!/usr/bin/env python3
"""Opens a report in headless Chromium and uses it as its readers would.

    check.py PAGE.html [FIGURE.svg ...] [--panels N] [--screenshots DIR]

Exit code 0: all is well; 1: something is not, said on stderr; 77: there is no Chromium here.
"""

import argparse
import pathlib
import re
import sys
import time
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from browser import Page, find_chromium  # noqa: E402

NAMESPACE = "http://www.w3.org/2000/svg"
failures = []


def check(ok, message):
    if not ok:
        failures.append(message)
        print(f"check.py: {message}", file=sys.stderr)


def check_offline(name, text):
    """Nothing in the file points outside it."""
    left = text.replace(f'"{NAMESPACE}"', '""')
    for pattern in (r"https?:", r"\bsrc\s*=", r"@import", r"url\((?!#)", r'href="(?!#)', r"<link\b"):
        found = re.search(pattern, left)
        check(not found, f"{name}: holds '{found and found.group()}'")


# ---- What holds at any width and in any mode -----------------------------------------------------

LAYOUT = """((width) => {
  const bad = [];
  if (document.documentElement.scrollWidth > width)
    bad.push(`the page is ${document.documentElement.scrollWidth} wide, the screen ${width}`);
  for (const svg of document.querySelectorAll("svg.panel")) {
    const s = svg.getBoundingClientRect(), name = svg.closest("figure").id;
    if (s.width < 250 || s.height < 150) bad.push(`${name}: a panel is ${s.width} by ${s.height}`);
    const boxes = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    for (const [text, b] of boxes) {
      if (b.left < s.left - 2 || b.right > s.right + 2 || b.top < s.top - 2 || b.bottom > s.bottom + 2)
        bad.push(`${name}: '${text}' leaves its panel`);
      for (const [other, o] of boxes)
        if (o !== b && b.left < o.right - 1 && o.left < b.right - 1 && b.top < o.bottom - 3 && o.top < b.bottom - 3)
          bad.push(`${name}: '${text}' and '${other}' overlap`);
      if (b.height < 8.5) bad.push(`${name}: '${text}' is only ${b.height} high`);
    }
  }
  return bad;
})"""

CONTRAST = """(() => {
  const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const paper = light(getComputedStyle(document.body).backgroundColor), bad = [];
  const test = (e, property, least) => {
    const colour = getComputedStyle(e)[property], r = ratio(light(colour), paper);
    if (!(r >= least)) bad.push(`${e.tagName}.${e.getAttribute("class")}: ${colour} has contrast ${r.toFixed(2)}`);
  };
  for (const e of document.querySelectorAll("p, th, td, h1, h2, dt, dd, a, figcaption, .verdict, .key"))
    test(e, "color", 4.5);
  for (const e of document.querySelectorAll("svg text")) test(e, "fill", 4.5);
  for (const e of document.querySelectorAll("svg g.s, .key i"))
    test(e, e.tagName === "I" ? "borderTopColor" : "stroke", 2.5);
  return { bad, paper };
})()"""


def check_look(page, where, width, dark):
    for message in page.run(f"{LAYOUT}({width})"):
        check(False, f"{where}: {message}")
    look = page.run(CONTRAST)
    for message in sorted(set(look["bad"]))[:8]:
        check(False, f"{where}: {message}")
    check((look["paper"] < 0.2) == dark, f"{where}: the paper's lightness is {look['paper']:.2f}")


def check_parts(page, where, panels):
    count = page.run("document.querySelectorAll('svg').length")
    check(count >= 1 and panels in (None, count), f"{where}: {count} charts, not {panels}")
    for figure in page.run("""[...document.querySelectorAll("figure")].map((f) => ({
            id: f.id, caption: f.querySelector("figcaption").textContent.trim(),
            panels: f.querySelectorAll("svg.panel").length,
            tables: f.querySelectorAll("table.data").length,
            keys: f.querySelectorAll(".legend .key").length,
            empty: [...f.querySelectorAll("svg.panel")].filter((s) => !s.querySelector("g.s")
                || [...s.querySelectorAll("g.s path:not(.bar)")].some((p) => !p.getAttribute("d"))).length,
            nameless: [...f.querySelectorAll("svg.panel")].filter((s) => s.getAttribute("role") !== "img"
                || !(s.getAttribute("aria-label") || s.querySelector("title")?.textContent)
                || !s.querySelector("desc")?.textContent).length }))"""):
        name = f"{where}: figure {figure['id']}"
        check(figure["caption"], f"{name} has no caption")
        check(figure["panels"] == figure["tables"] > 0, f"{name}: a panel lacks its table: {figure}")
        check(figure["keys"] > 0, f"{name} has no legend")
        check(figure["empty"] == 0, f"{name} has a chart without curves")
        check(figure["nameless"] == 0, f"{name} has a chart without a name")


# ---- Legend --------------------------------------------------------------------------------------

HELPERS = """
  window.seen = (fig, kind, n) => [...fig.querySelectorAll(`svg .s[data-${kind}="${n}"]`)]
    .filter((e) => getComputedStyle(e).display !== "none").length;
  window.all = (fig) => [...fig.querySelectorAll("svg .s")]
    .filter((e) => getComputedStyle(e).display !== "none").length;
"""

TOGGLES = """(() => {
  const bad = [];
  for (const fig of document.querySelectorAll("figure"))
    for (const b of fig.querySelectorAll("button.key")) {
      const kind = b.dataset.c !== undefined ? "c" : "d", n = b.dataset[kind];
      const name = `${fig.id}: ${b.textContent}`, before = seen(fig, kind, n), total = all(fig);
      if (!before) bad.push(`${name} belongs to no curve`);
      b.click();
      if (seen(fig, kind, n)) bad.push(`${name} does not hide its curves`);
      if (all(fig) !== total - before) bad.push(`${name} hides the curves of others`);
      if (b.getAttribute("aria-pressed") !== "false") bad.push(`${name} stays pressed`);
      b.click();
      if (all(fig) !== total) bad.push(`${name} does not bring its curves back`);
      if (b.getAttribute("aria-pressed") !== "true") bad.push(`${name} is not pressed again`);
      b.dispatchEvent(new MouseEvent("dblclick"));
      if (all(fig) !== before) bad.push(`${name} does not show its curves alone`);
      b.dispatchEvent(new MouseEvent("dblclick"));
      if (all(fig) !== total) bad.push(`${name} does not end being alone`);
    }
  return bad;
})()"""


def check_legend(page):
    page.run(HELPERS)
    check(page.run("document.querySelectorAll('button.key').length") > 0, "the legend has no buttons")
    for message in page.run(TOGGLES):
        check(False, f"legend: {message}")
    # By keyboard, through the browser rather than by calling click().
    page.run("document.querySelector('button.key').focus()")
    for key, state in ((" ", "false"), ("Enter", "true")):
        page.key(key)
        pressed = page.run("document.querySelector('button.key').getAttribute('aria-pressed')")
        check(pressed == state, f"legend: after key '{key}' aria-pressed is {pressed}")


# ---- Values --------------------------------------------------------------------------------------

# A point of the panel from its table, drawn by our own arithmetic: its place on the screen.
PLACE = """(async (number, row, column) => {
  const svg = document.querySelectorAll("svg.panel")[number];
  const fig = svg.closest("figure"), at = [...fig.querySelectorAll("svg.panel")].indexOf(svg);
  const table = fig.querySelectorAll("table.data")[at], cells = table.tBodies[0].rows[row].cells;
  const place = (text, value) => {
    const [kind, lo, hi, from, to, end] = text.split(" ").map((t, i) => i ? Number(t) : t);
    if (value === Infinity) return end;
    const f = kind === "log" ? Math.log10 : (v) => v;
    return from + (to - from) * (f(value) - f(lo)) / (f(hi) - f(lo));
  };
  const number_ = (t) => t.trim() === "∞" ? Infinity : parseFloat(t);
  svg.scrollIntoView({ block: "center", behavior: "instant" });
  for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
  const s = svg.getBoundingClientRect(), scale = s.width / svg.viewBox.baseVal.width;
  return { x: s.left + scale * place(svg.dataset.x, number_(cells[0].dataset.x ?? cells[0].textContent)),
           y: s.top + scale * place(svg.dataset.y, number_(cells[column].textContent)),
           at: cells[0].textContent.trim(), value: cells[column].textContent.trim(),
           name: table.tHead.rows[0].cells[column].textContent.trim() };
})"""

TIP = "[...document.querySelectorAll('.tip')].filter((t) => !t.hidden).map((t) => t.innerText).join('|')"


def point_at(page, place):
    """What the page shows under the pointer; asked again while the browser is busy scrolling."""
    for _ in range(100):
        page.mouse("mouseMoved", place["x"] - 3, place["y"])
        page.mouse("mouseMoved", place["x"], place["y"])
        if tip := page.run(TIP):
            return tip
        time.sleep(0.1)
    return ""


def check_values(page):
    panels = page.run("document.querySelectorAll('svg.panel').length")
    rows = page.run("""[...document.querySelectorAll("table.data")].map((t) =>
        [t.tBodies[0].rows.length, t.tHead.rows[0].cells.length - 1])""")
    for number in range(panels):
        n_rows, columns = rows[number]
        for row, column in ((0, 1), (n_rows - 1, columns), (n_rows // 2, (columns + 1) // 2)):
            p = page.run(f"{PLACE}({number}, {row}, {column})")
            if not p["value"]:
                continue
            tip = point_at(page, p)
            # Where curves meet, the one on show may be another that passes through the same place.
            check(p["at"] in tip and (p["name"] not in tip or p["value"] in tip),
                  f"panel {number}: at {p} the page shows '{tip}'")
    p = page.run(f"{PLACE}(0, {rows[0][0] // 2}, {rows[0][1]})")
    if not p["value"]:  # a shorter curve than others
        p = page.run(f"{PLACE}(0, {rows[0][0] // 2}, 1)")
    tip = point_at(page, p)
    check(p["value"] in tip, f"at {p} the page shows '{tip}'")
    page.mouse("mouseMoved", 2, 2)
    check(page.run(TIP) == "", "the values stay when the pointer has left")


def check_keys(page):
    page.run("document.querySelector('svg.panel').focus()")
    page.key("ArrowRight")
    first = page.run(TIP)
    page.key("ArrowRight")
    second = page.run(TIP)
    page.key("ArrowUp")
    third = page.run(TIP)
    check(first and second and first != second, f"arrow right goes from '{first}' to '{second}'")
    check(third != second, f"arrow up goes from '{second}' to '{third}'")
    page.key("Escape")
    check(page.run(TIP) == "", "Escape does not put the values away")


def check_touch(page):
    p = page.run(f"{PLACE}(0, 2, 1)")
    page.touch(p["x"], p["y"])
    tip = page.run(TIP)
    check(tip != "", f"a touch at {p} shows nothing")
    inside = page.run("""[...document.querySelectorAll(".tip")].filter((t) => !t.hidden)
        .every((t) => { const r = t.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth; })""")
    check(inside, "the values leave the screen")


# ---- All together --------------------------------------------------------------------------------

def check_page(page, path, panels, shots):
    url = path.resolve().as_uri()

    def shoot(name):
        if shots:
            page.screenshot(shots / f"{path.stem}-{name}.png")

    for name, width, dark in (("wide-light", 1280, False), ("wide-dark", 1280, True),
                              ("phone-light", 390, False), ("phone-dark", 390, True),
                              ("narrow", 320, False)):
        page.open(url, width=width, dark=dark)
        check_look(page, name, width, dark)
        check_parts(page, name, panels)
        shoot(name)
        if name == "wide-light":
            check_legend(page)
            check_values(page)
            check_keys(page)
        if name == "phone-light":
            check_touch(page)
    page.open(url, width=800, dark=True, media="print")
    check_look(page, "print", 800, dark=False)
    shoot("print")
    page.open(url, width=1280, scripts=False)
    page.call("Emulation.setScriptExecutionDisabled", value=False)
    check_look(page, "without scripts", 1280, dark=False)
    check_parts(page, "without scripts", panels)
    check(page.run("document.querySelectorAll('button').length") == 0,
          "without scripts: there are buttons that do nothing")
    outside = {r for r in page.requests if r != url}
    check(not outside, f"the page asks for {outside}")


def check_file(page, path, shots):
    check_offline(path.name, path.read_text(encoding="utf-8"))
    root = xml.etree.ElementTree.parse(path).getroot()
    check(root.tag == f"{{{NAMESPACE}}}svg", f"{path.name}: the root is {root.tag}")
    page.open(path.resolve().as_uri(), width=1400, height=600)
    for message in page.run("""(() => {
        const s = document.documentElement.getBoundingClientRect();
        return [...document.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()])
          .filter(([, b]) => b.right > s.right + 1 || b.bottom > s.bottom + 1 || b.left < s.left - 1)
          .map(([text]) => `'${text}' leaves the drawing`); })()"""):
        check(False, f"{path.name}: {message}")
    if shots:
        page.screenshot(shots / f"{path.stem}-file.png", whole=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("svg", type=pathlib.Path, nargs="*")
    parser.add_argument("--panels", type=int, help="how many charts the page must have")
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    arguments = parser.parse_args()
    chromium = find_chromium()
    if chromium is None:
        print("check.py: no Chromium here, nothing was checked", file=sys.stderr)
        return 77
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    check_offline(arguments.page.name, arguments.page.read_text(encoding="utf-8"))
    with Page(chromium) as page:
        check_page(page, arguments.page, arguments.panels, arguments.screenshots)
        for path in arguments.svg:
            check_file(page, path, arguments.screenshots)
        for complaint in page.complaints:
            check(False, f"the browser complains: {complaint}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
