"""Builds an app that links only the product Diorama, as a separate package. It must not link the servers' libraries, and
a release build without the trait Controlled must not contain code that reads a contract. Swift Build makes its debug build.

    inert.py [--optimized]    with optimized release builds, which take longer
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

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

# The names by which a contract is found. Code that reads contracts must contain them.
TRACES = ["DIORAMA_CONTRACT", "DioramaContract"]
FORBIDDEN = ["curl", "FoundationNetworking", "microhttpd", "sqlite", "secret", "gnutls", "brotli", "pcre2", "protobuf"]
CONTRACT = {
    "version": 1,
    "environment": {"id": "e", "name": "inert"},
    "mode": "mock",
    "clock": {"kind": "frozen", "start": "2018-10-08T09:00:00Z"},
    "seed": "recording-2018",
    "toggles": {"skip-onboarding": True},
}


# The build's name: options for `swift build`, and whether the app should read a contract.
BUILDS = {
    # A dependency is compiled with -suppress-warnings, which Swift Build does not combine with -warnings-as-errors.
    "debug build": (["-c", "debug", "--build-system", "swiftbuild"], True),
    "release build": (["-c", "release"], False),
    "release build with Controlled": (["-c", "release"], True),
}


def build(place, name, options):
    """Builds the app in its own folder. Returns the program's path."""
    place = place / name.replace(" ", "-")
    (place / "Sources/app").mkdir(parents=True)
    (place / "Sources/app/App.swift").write_text(APP)
    traits = ', traits: ["Controlled"]' if name.endswith("Controlled") else ""
    (place / "Package.swift").write_text(MANIFEST % {"root": json.dumps(str(support.ROOT)), "traits": traits})
    words = ["swift", "build", "--disable-index-store", "-Xswiftc", "-gnone", *options]
    # PWD as a shell sets it.
    more = {"cwd": place, "env": {**support.environment(), "PWD": str(place)}, "capture_output": True, "text": True}
    ended = subprocess.run(words, timeout=900, **more)
    if ended.returncode:
        sys.exit(f"{' '.join(words)} failed:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    folder = subprocess.run([*words, "--show-bin-path"], timeout=60, check=True, **more).stdout.strip()
    return pathlib.Path(folder, "app")


def run(app, contract=None):
    words = dict(support.environment())
    if contract is not None:
        words["DIORAMA_CONTRACT"] = contract if isinstance(contract, str) else json.dumps(contract)
    return subprocess.run([str(app)], env=words, capture_output=True, text=True, timeout=support.PATIENCE)


def is_controlled(answer):
    return answer.returncode == 0 and answer.stdout.startswith("1538989200.0 z0r1lpyugt7o true")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--optimized", action="store_true")
    # Without the optimizer, code that is not called stays in the program, and the build takes half the time.
    plain = [] if arguments.parse_args().optimized else ["-Xswiftc", "-Onone"]
    checks = support.Checks("inert")
    with support.folder() as place:
        for name, (options, reads) in BUILDS.items():
            started = time.monotonic()
            app = build(place, name, [*options, *plain])
            checks.say(f"{name}: {time.monotonic() - started:.0f} s, {os.path.getsize(app) // 1024} KiB")
            libraries = subprocess.run(["ldd", str(app)], capture_output=True, text=True, check=True).stdout
            for library in FORBIDDEN:
                checks.that(library.lower() not in libraries.lower(), f"{name}: links no {library}", libraries)
            content = app.read_bytes()
            for trace in TRACES:
                there = trace.encode() in content
                checks.that(there == reads, f"{name}: {'contains' if reads else 'does not contain'} {trace}")
            answer = run(app, CONTRACT)
            checks.that(is_controlled(answer) == reads, f"{name}: {'follows' if reads else 'ignores'} a contract", answer)
            broken = run(app, "{")
            checks.that((broken.returncode != 0) == reads, f"{name}: {'exits on' if reads else 'ignores'} a broken contract", broken)
            live = run(app)
            checks.that(live.returncode == 0 and not is_controlled(live), f"{name}: uses the real environment without a contract", live)
    checks.end()


main()
