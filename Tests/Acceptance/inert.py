"""Builds an app that links only the product Diorama, as a separate package. It must not contain the servers, and a release
build without the trait Controlled must not contain code that reads a contract."""

import json
import os
import subprocess
import sys

import support

MANIFEST = """// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "app",
  dependencies: [.package(name: "diorama", path: %(root)s%(traits)s)],
  targets: [.executableTarget(name: "app", dependencies: [.product(name: "Diorama", package: "diorama")])]
)
"""

APP = """import Diorama
import Foundation

@main
struct App {
  static let skipOnboarding = Toggle("skip-onboarding", default: false)

  static func main() async throws {
    let controls = try AppControls.launch()
    let today: Date = controls.clock.now
    let email = try controls.strings.string("email", length: 12)
    print(today.timeIntervalSince1970, email, controls.toggles[skipOnboarding])
    print(controls.endpoint("api", default: URL(filePath: "/")))
  }
}
"""

# The names by which a contract is found; code that reads contracts must contain them.
TRACES = ["DIORAMA_CONTRACT", "DioramaContract"]
FORBIDDEN = ["curl", "FoundationNetworking", "microhttpd", "sqlite", "secret", "gnutls", "brotli"]
CONTRACT = {
    "version": 1,
    "environment": {"id": "e", "name": "inert"},
    "mode": "mock",
    "clock": {"kind": "frozen", "start": "2018-10-08T09:00:00Z"},
    "seed": "recording-2018",
    "toggles": {"skip-onboarding": True},
}


def build(place, configuration, trait):
    """Builds the app and returns its path. The build folder is reused."""
    traits = ', traits: ["Controlled"]' if trait else ""
    manifest = MANIFEST % {"root": json.dumps(str(support.ROOT)), "traits": traits}
    (place / "Package.swift").write_text(manifest)
    words = ["swift", "build", "-c", configuration, "--package-path", str(place)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=900)
    if ended.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return place / ".build" / configuration / "app"


def run(app, contract=None):
    words = dict(support.environment())
    if contract is not None:
        words["DIORAMA_CONTRACT"] = contract if isinstance(contract, str) else json.dumps(contract)
    return subprocess.run([str(app)], env=words, capture_output=True, text=True, timeout=support.PATIENCE)


def is_controlled(answer):
    return answer.returncode == 0 and answer.stdout.startswith("1538989200.0 z0r1lpyugt7o true")


def main():
    checks = support.Checks("inert")
    with support.folder() as place:
        (place / "Sources/app").mkdir(parents=True)
        (place / "Sources/app/App.swift").write_text(APP)
        for configuration, trait, reads in (("debug", False, True), ("release", False, False), ("release", True, True)):
            name = f"{configuration} build {'with' if trait else 'without'} Controlled"
            app = build(place, configuration, trait)
            libraries = subprocess.run(["ldd", str(app)], capture_output=True, text=True, check=True).stdout
            for library in FORBIDDEN:
                checks.that(library.lower() not in libraries.lower(), f"{name}: links no {library}", libraries)
            content = app.read_bytes()
            for trace in TRACES:
                there = trace.encode() in content
                checks.that(there == reads, f"{name}: {'holds' if reads else 'does not hold'} {trace}")
            answer = run(app, CONTRACT)
            checks.that(is_controlled(answer) == reads, f"{name}: {'uses' if reads else 'ignores'} a contract", answer)
            broken = run(app, "{")
            checks.that((broken.returncode != 0) == reads, f"{name}: a broken contract {'ends it' if reads else 'is ignored'}", broken)
            live = run(app)
            checks.that(live.returncode == 0 and not is_controlled(live), f"{name}: is unaffected without a contract", live)
        checks.say(f"a release build of {os.path.getsize(place / '.build/release/app') // 1024} KiB, libraries as in any Swift program")
    checks.end()


main()
