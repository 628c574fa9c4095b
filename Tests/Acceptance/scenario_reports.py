"""Makes reports of a run with every kind of result, and looks at them: messages and JUnit XML by their schemas, the page
in headless Chromium, in light and dark, wide and narrow: contrast, names, headings, filters, and what is outside.

    scenario_reports.py [--pictures DIR]     --pictures keeps the screenshots
"""

import argparse
import json
import pathlib
import re
import shutil
import sys
import xml.etree.ElementTree

import scenario_reports_sample as sample
import support

FIXTURES = support.ROOT / "Tests/ScenarioReportsTests/Fixtures"

# Checks the page like axe: every text's contrast, the names of controls, the order of headings, ids, the language.
CHECKER = """
(function () {
  var problems = [], texts = 0;
  function channel(value) { value /= 255; return value <= 0.03928 ? value / 12.92 : Math.pow((value + 0.055) / 1.055, 2.4); }
  function luminance(color) { return 0.2126 * channel(color[0]) + 0.7152 * channel(color[1]) + 0.0722 * channel(color[2]); }
  function parsed(text) { var parts = (text.match(/[0-9.]+/g) || []).map(Number); if (parts.length < 4) parts.push(1); return parts; }
  function background(element) {
    for (; element; element = element.parentElement) {
      var color = parsed(getComputedStyle(element).backgroundColor);
      if (color[3] === 1) return color;
      if (color[3] > 0) problems.push('half transparent background of ' + element.className);
    }
    return [255, 255, 255, 1];
  }
  function contrast(one, other) {
    var values = [luminance(one), luminance(other)].sort(function (a, b) { return b - a; });
    return (values[0] + 0.05) / (values[1] + 0.05);
  }
  document.querySelectorAll('details').forEach(function (details) { details.open = true; });
  var walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), node;
  while ((node = walker.nextNode())) {
    var owner = node.parentElement;
    if (!node.data.trim() || /^(SCRIPT|STYLE|OPTION)$/.test(owner.tagName)) continue;
    var style = getComputedStyle(owner);
    if (style.visibility === 'hidden' || !owner.getClientRects().length) continue;
    var ratio = contrast(parsed(style.color), background(owner));
    texts += 1;
    if (ratio < 4.5) problems.push('contrast ' + ratio.toFixed(2) + ': ' + owner.className + ': ' + node.data.slice(0, 40));
  }
  var search = document.querySelector('input');
  if (search) {
    var ratio = contrast(parsed(getComputedStyle(search, '::placeholder').color), background(search));
    if (ratio < 4.5) problems.push('contrast of the placeholder: ' + ratio);
  }
  function named(element) {
    var ids = (element.getAttribute('aria-labelledby') || '').split(' ').filter(Boolean);
    var label = element.id && document.querySelector('label[for="' + element.id + '"]');
    return (element.getAttribute('aria-label') || element.getAttribute('alt') || '').trim() ||
      ids.some(function (id) { var one = document.getElementById(id); return one && one.textContent.trim(); }) ||
      (label && label.textContent.trim()) || (!/^(IMG|INPUT|SVG)$/i.test(element.tagName) && element.textContent.trim());
  }
  var controls = 'a,button,input,img,summary,[role=img],[role=region],[role=group],section,video,audio';
  document.querySelectorAll(controls).forEach(function (element) {
    if (!named(element)) problems.push('no name: ' + element.outerHTML.slice(0, 100));
  });
  var level = 0;
  document.querySelectorAll('h1,h2,h3,h4,h5,h6').forEach(function (heading) {
    var next = Number(heading.tagName[1]);
    if (next > level + 1) problems.push('heading skips a level: ' + heading.textContent);
    level = next;
  });
  if (document.querySelectorAll('h1').length !== 1) problems.push('not one h1');
  if (document.querySelectorAll('main').length !== 1) problems.push('not one main');
  if (!document.documentElement.lang) problems.push('no language');
  if (!document.title) problems.push('no title');
  var ids = {};
  document.querySelectorAll('[id]').forEach(function (element) {
    if (ids[element.id]) problems.push('duplicate id ' + element.id);
    ids[element.id] = true;
  });
  document.querySelectorAll('a[href^="#"]').forEach(function (link) {
    if (!document.getElementById(link.getAttribute('href').slice(1))) problems.push('broken link ' + link.getAttribute('href'));
  });
  document.querySelectorAll('[tabindex]').forEach(function (element) {
    if (Number(element.getAttribute('tabindex')) > 0) problems.push('tab order changed: ' + element.className);
  });
  if (document.documentElement.scrollWidth > innerWidth + 1) problems.push('wider than the window: ' + document.documentElement.scrollWidth);
  return { problems: problems, texts: texts };
})()
"""

# Uses the filters as a reader would.
FILTERS = """
(function () {
  function shown() { return document.querySelectorAll('.scenario:not([hidden])').length; }
  var search = document.getElementById('search'), seen = { all: shown(), counts: document.getElementById('counts').hidden };
  function find(text) { search.value = text; search.dispatchEvent(new Event('input')); return shown(); }
  document.querySelector('[data-filter=failed]').click(); seen.failed = shown();
  seen.text = document.getElementById('shown').textContent;
  document.querySelector('[data-filter=undefined]').click(); seen.two = shown();
  document.querySelector('[data-filter=failed]').click(); document.querySelector('[data-filter=undefined]').click();
  seen.search = find('\\u00c5ngstr\\u00d6m'); seen.feature = find('holidays'); seen.none = find('no such text');
  seen.features = document.querySelectorAll('.feature:not([hidden])').length;
  find('');
  document.getElementById('expand').click();
  seen.open = document.querySelectorAll('.scenario[open]').length;
  location.hash = '#s1';
  return seen;
})()
"""


class Browser:
    """Headless Chromium with a profile of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if not self.program:
            sys.exit("chromium is missing; install it with: apt-get install chromium")

    def run(self, page, *options, scheme="light", width=1200, height=1600):
        words = [self.program, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                 f"--user-data-dir={self.folder / 'profile'}", f"--window-size={width},{height}",
                 f"--blink-settings=preferredColorScheme={int(scheme == 'light')}", *options, page.as_uri()]
        return support.finish(words)

    def picture(self, page, path, **more):
        self.run(page, f"--screenshot={path}", **more)
        return path.exists() and path.stat().st_size

    def evaluate(self, page, expression, **more):
        """The value of an expression in the page, whose policy is removed in a copy, since it forbids such scripts."""
        html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
        script = f"<script>document.body.dataset.result = JSON.stringify({expression.strip()})</script>"
        copy = page.with_name("evaluated.html")
        copy.write_text(html.replace("</body>", script + "</body>"))
        return self.result(self.run(copy, "--dump-dom", **more).stdout)

    def framed(self, page, expression, width, **more):
        """Like evaluate, in a window that is narrower than Chromium's smallest."""
        html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
        script = f"<script>parent.postMessage(JSON.stringify({expression.strip()}), '*')</script>"
        page.with_name("framed.html").write_text(html.replace("</body>", script + "</body>"))
        outer = page.with_name("frame.html")
        outer.write_text(
            "<body><script>addEventListener('message', e => { document.body.dataset.result = e.data })</script>"
            f"<iframe src=framed.html width={width} height=900></iframe>")
        return self.result(self.run(outer, "--dump-dom", "--virtual-time-budget=3000", **more).stdout)

    @staticmethod
    def result(dom):
        found = re.search(r'data-result="([^"]*)"', dom)
        if not found:
            return None
        text = found.group(1)
        for name, character in (("&quot;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\u00a0"), ("&amp;", "&")):
            text = text.replace(name, character)
        return json.loads(text)


def check_messages(checks, paths):
    """By the official schema, which another program reads."""
    program = """
import json, sys
import jsonschema, referencing
schema = json.load(open(sys.argv[1]))
registry = referencing.Registry()
for part in schema["$defs"].values():
    registry = registry.with_resource(part["$id"], referencing.Resource.from_contents(part))
validator = jsonschema.Draft202012Validator(schema, registry=registry)
for path in sys.argv[2:]:
    for number, line in enumerate(open(path), 1):
        for error in validator.iter_errors(json.loads(line)):
            print(f"{path}:{number}: {error.message[:200]}")
"""
    ran = support.finish(
        [support.python("reports"), "-c", program, str(FIXTURES / "messages.schema.json"), *map(str, paths)])
    checks.that(ran.returncode == 0 and not ran.stdout, "the sample's messages follow the official schema",
                ran.stdout + ran.stderr)


def check_junit(checks, path):
    program = """
import sys, xmlschema
import xml.etree.ElementTree as etree
tree = etree.parse(sys.argv[2])
# Jenkins reads the properties of test cases, but its schema does not have them.
for case in tree.iter("testcase"):
    for properties in case.findall("properties"):
        case.remove(properties)
for error in xmlschema.XMLSchema(sys.argv[1]).iter_errors(tree):
    print(error.reason, error.path)
"""
    ran = support.finish([support.python("reports"), "-c", program, str(FIXTURES / "junit-10.xsd"), str(path)])
    checks.that(ran.returncode == 0 and not ran.stdout, "JUnit XML follows Jenkins' schema", ran.stdout + ran.stderr)
    root = xml.etree.ElementTree.parse(path).getroot()
    kinds = sorted(failure.get("type") for failure in root.iter("failure"))
    checks.that(kinds == ["ambiguous", "failed", "miss", "pending", "undefined", "undefined"], "its failures", kinds)
    checks.that(root.get("tests") == "11" and len(list(root.iter("flakyFailure"))) == 1, "its counts", root.attrib)


def check_page(checks, browser, page, pictures):
    html = page.read_text()
    checks.that("<title>6 of 11 scenarios failed" in html, "the title says what failed", html[:800])
    outside = re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', html)
    checks.that(
        set(outside) <= {"https://example.com/builds/7", "https://example.com/help"}, "only links of the run lead outside",
        outside)
    for scheme in ("light", "dark"):
        seen = browser.evaluate(page, CHECKER, scheme=scheme)
        checks.that(seen and not seen["problems"] and seen["texts"] > 200, f"{scheme}: contrast, names, headings", seen)
        seen = browser.framed(page, CHECKER, 390, scheme=scheme)
        checks.that(seen and not seen["problems"] and seen["texts"] > 200, f"{scheme}, 390 px: the same", seen)
        size = browser.picture(page, pictures / f"{scheme}.png", scheme=scheme, height=4000)
        checks.that(size > 50_000, f"{scheme}: a screenshot", size)
    light, dark = (pictures / f"{scheme}.png" for scheme in ("light", "dark"))
    checks.that(light.read_bytes() != dark.read_bytes(), "dark looks different")

    seen = browser.evaluate(page, FILTERS)
    checks.that(
        seen == {"all": 11, "counts": True, "failed": 2, "text": "Showing 2 of 11 scenarios", "two": 4, "search": 1,
                 "feature": 6, "none": 0, "features": 0, "open": 11}, "filters and search", seen)

    # Chromium's own switch for scripts also keeps it from dumping the document.
    plain = page.with_name("plain.html")
    plain.write_text(re.sub(r"script-src &#39;[^;]*;", "script-src &#39;none&#39;;", html))
    dom = browser.run(plain, "--dump-dom").stdout
    checks.that('id="filters" hidden' in dom and 'id="counts">' in dom, "without JavaScript: counts, no filters", dom[-500:])
    checks.that(browser.picture(plain, pictures / "plain.png", height=4000) > 50_000, "without JavaScript: a screenshot")
    hostile = page.with_name("hostile.html")
    hostile.write_text(html.replace("</body>", "<script>document.title='taken'</script><img src=x onerror=document.title='taken'></body>"))
    checks.that("<title>taken" not in browser.run(hostile, "--dump-dom").stdout, "the policy stops other scripts")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--pictures", type=pathlib.Path)
    options = options.parse_args()
    checks = support.Checks("scenario_reports")
    with support.folder() as folder:
        pictures = options.pictures or folder
        pictures.mkdir(parents=True, exist_ok=True)
        browser = Browser(folder)
        paths = {name: folder / f"{name}.ndjson" for name in ("clinic", "passed", "many")}
        paths["clinic"].write_text(sample.clinic().ndjson())
        paths["passed"].write_text(sample.passed().ndjson())
        paths["many"].write_text(sample.many(1000).ndjson())
        check_messages(checks, paths.values())

        page, junit = folder / "report.html", folder / "junit.xml"
        made = support.diorama("features", "report", paths["clinic"], "--html", page, "--junit", junit)
        if not checks.that(page.exists() and junit.exists(), "diorama features report writes both", made):
            checks.end()
        check_junit(checks, junit)
        check_page(checks, browser, page, pictures.absolute())

        support.diorama("features", "report", paths["passed"], paths["clinic"], "--html", page)
        checks.that("<title>6 of 12 scenarios failed" in page.read_text(), "merges files of several processes")
        support.diorama("features", "report", paths["passed"], "--html", page)
        checks.that("<title>The scenario passed" in page.read_text(), "says that all passed")
        seen = browser.evaluate(page, CHECKER, scheme="dark")
        checks.that(seen and not seen["problems"], "a run without failures is as readable", seen)

        support.diorama("features", "report", paths["many"], "--html", page)
        size = page.stat().st_size
        checks.that(size < 4_000_000, "1,000 scenarios take less than 4 MB", size)
        seen = browser.evaluate(page, "Math.round(performance.now())")
        checks.that(seen is not None and seen < 5000, "1,000 scenarios open quickly", seen)
        checks.say(f"1,000 scenarios: {size / 1e6:.1f} MB, {seen} ms until the page is read")

        broken = folder / "broken.ndjson"
        broken.write_text(paths["passed"].read_text() + '{"pickle":')
        ran = support.diorama("features", "report", broken, "--html", folder / "none.html")
        lines = len(broken.read_text().splitlines())
        checks.that(ran.returncode == 65 and f"line {lines}" in ran.stderr, "names the line of a broken message", ran)
    checks.end()


if __name__ == "__main__":
    main()
