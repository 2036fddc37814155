#!/usr/bin/env python3
"""The operator's page in a real browser."""

import os
import pathlib
import re
import sys
import time
import unittest

from service import Case

sys.path.insert(0, str(pathlib.Path(os.environ["SOURCE"], "tests/page")))
from browser import Page, find_chromium  # noqa: E402

LOOK = """(() => {
  const light = (c) => c.match(/[\\d.]+/g).slice(0, 3).map(Number).map((v) => v / 255)
    .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const behind = (e) => { while (e && /rgba\\(0, 0, 0, 0\\)|transparent/.test(getComputedStyle(e).backgroundColor)) e = e.parentElement;
    return light(getComputedStyle(e ?? document.body).backgroundColor); };
  const bad = [];
  for (const e of document.querySelectorAll("h1, h2, p, dt, dd, th, td, label, button, code, small, #health")) {
    if (!e.offsetParent || !e.textContent.trim()) continue;
    const r = ratio(light(getComputedStyle(e).color), behind(e));
    if (!(r >= 4.5)) bad.push(`${e.tagName} '${e.textContent.slice(0, 20)}' has contrast ${r.toFixed(2)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) bad.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return { bad, paper: light(getComputedStyle(document.body).backgroundColor) };
})()"""


@unittest.skipUnless(find_chromium(), "there is no Chromium here")
class OperatorPage(Case):
    def until(self, page, expression, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := page.run(expression):
                return value
            time.sleep(0.1)
        self.fail(f"never true: {expression}; {page.complaints}")

    def log_in(self, page, token):
        page.run(f"document.getElementById('token').value = {token!r}; document.querySelector('form').requestSubmit()")

    def text(self, page, id):
        return page.run(f"document.getElementById('{id}').textContent")

    def shown(self, page, id):
        return page.run(f"!document.getElementById('{id}').hidden")

    def check_look(self, page, dark, where):
        look = page.run(LOOK)
        self.assertEqual(look["bad"], [], where)
        self.assertEqual(look["paper"] < 0.2, dark, where)

    def test_page(self):
        evil = "<b>evil</b>&amp;"
        with self.serve("--insecure-http", listen="127.0.0.1:0", epsilon="0.5", sheet=["visits", f"Insurer {evil}", "", "ann@example.org"], rows=[(i, i % 2) for i in range(1000)],
                        tokens=[f"{evil}:learner:0:500:", "old:learner:1000:0:"]) as service, Page(find_chromium()) as page:
            service.ask(self.token[evil], "<script>alert(1)</script>", [["0", "1"], ["2", "3", "4"]])
            service.ask(self.token["learner"], "again", [["0", "9"]])
            page.open(service.url + "/")
            self.assertTrue(self.shown(page, "login"))
            self.assertFalse(self.shown(page, "state"))
            self.check_look(page, False, "login, light")

            self.log_in(page, "wrong")
            self.until(page, "document.getElementById('refused').textContent")
            self.assertIn("not known", self.text(page, "refused"))
            self.log_in(page, self.token["learner"])
            self.until(page, "document.getElementById('refused').textContent.includes('learner')")
            self.assertFalse(self.shown(page, "state"))
            self.assertIsNone(page.run("sessionStorage.getItem('token')"))

            self.log_in(page, self.token["operator"])
            self.until(page, "!document.getElementById('state').hidden")
            self.assertEqual([self.text(page, i) for i in ("left", "spent", "rows", "answers", "bags")], ["995", "5", "1,000", "1", "2"])
            self.assertIn("0.5", self.text(page, "rules"))
            self.assertIn(f"LabelvisitsOwnerInsurer {evil}Contactann@example.orgLeast", self.text(page, "rules"))
            self.assertIn("healthy", self.text(page, "health"))
            self.assertRegex(self.text(page, "head"), "^[0-9a-f]{64}$")
            self.assertRegex(self.text(page, "refusals"), "learnerrow-spent.* UTC")
            self.assertIn("expired", self.text(page, "tokens"))
            self.assertIn("all rows55000.5never", self.text(page, "tokens"))  # 5 rows of 500: epsilon 0.5
            self.assertGreater(page.run("Math.max(...[...document.querySelectorAll('#rate rect')].map((r) => +r.getAttribute('height')))"), 10)
            # Names are text, whatever they say.
            self.assertIn(evil, self.text(page, "tokens"))
            self.assertIn("<script>", self.text(page, "recent"))
            self.assertEqual(page.run("document.querySelectorAll('b, table script').length"), 0)

            # It refreshes itself.
            head = self.text(page, "head")
            self.assertEqual(service.ask(self.token["learner"], "more", [["10", "11", "12"]]).status, 200)
            self.until(page, "document.getElementById('spent').textContent === '8'")
            self.assertNotEqual(self.text(page, "head"), head)

            for width, dark in ((1280, False), (1280, True), (380, False), (380, True)):
                page.open(service.url + "/", width=width, dark=dark)  # the token survives a reload of the tab
                self.until(page, "!document.getElementById('state').hidden")
                self.check_look(page, dark, f"{width} wide, {'dark' if dark else 'light'}")

            page.run("document.getElementById('logout').click()")
            self.assertTrue(self.shown(page, "login"))
            self.assertIsNone(page.run("sessionStorage.getItem('token')"))
            self.log_in(page, self.token["operator"])
            self.until(page, "!document.getElementById('state').hidden")
            complaints = [c for c in page.complaints if "status of 401" not in c]
            self.assertEqual(complaints, [])
            self.assertEqual({u for u in page.requests if not u.startswith(service.url + "/")}, set())

            service.stop()
            self.until(page, "document.getElementById('health').textContent.includes('does not answer')")

    def test_policy(self):
        with self.serve() as service:
            for path in ("/", "/page.css", "/page.js", "/icon.svg", "/v1/openapi.json", "/nothing"):
                policy = service.get(path).headers["Content-Security-Policy"]
                self.assertIn("default-src 'none'", policy)
                self.assertNotIn("unsafe", policy)
            page = service.get("/").body.decode()
            self.assertNotRegex(page, r"\sstyle=|<style|\son\w+=|<script(?! src=\"/page.js\")")
            for path in ("/", "/page.css", "/page.js"):
                text = service.get(path).body.decode().replace("http://www.w3.org/2000/svg", "")
                self.assertNotRegex(text, r"https?://|//\w+\.\w+|@import|url\(")


if __name__ == "__main__":
    unittest.main()
