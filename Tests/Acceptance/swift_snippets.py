"""Type-checks the Swift code in the README and the articles against the modules that `swift build` has made.

Code blocks fenced as `swift` count; `…` in them stands for code that is left out. Statements become the body of a function,
tests and suites members of a type, `override` members of a test case, and what uses `self.` the steps of a type with step
definitions. What snippets use without declaring it is in CONTEXT.
"""

import pathlib
import re
import shutil
import subprocess
import sys

import support

CONTEXT = """
import Diorama
import DioramaScenarios
import DioramaScreens
import DioramaTesting
import DioramaURLSession
import Foundation
import FoundationNetworking
import Testing
import XCTest

struct Slot { let start: Date }
struct API { func slots() async throws -> [Slot] { [] } }
struct LockScreen { func lock(after duration: Duration, on clock: DioramaClock) async throws {} }
struct File { let name: String }
struct LoginPage: PageObject {
  let screen: ChromiumPage
  func isPresented() -> Bool { true }
  func logIn(as name: String) async throws -> HomePage { HomePage(screen: screen) }
}
struct HomePage: PageObject {
  let screen: ChromiumPage
  func isPresented() -> Bool { true }
}
struct Prescription: Codable, Sendable { var id = 0, dose = 0.0 }
enum ClinicAPI {
  struct Prescription: Codable { var medicine: String, dose: Int }
  struct User: Codable, Mockable { var email: String }
}
struct Registration: Codable, Sendable { var token = "" }
struct Refill: Codable, Sendable { var accepted = true }
enum Plan: CaseIterable { case basic, full }
enum Theme: String { case light, dark }
enum Vehicle: CaseIterable { case bus, train }
struct Amount { init(_ text: String) {} }
struct Patient: Decodable { var name: String }
struct Answer: Decodable { var text: String }
struct Location: Codable, Sendable { static let london = Location() }
let controls = try! AppControls.launch(), strings = controls.strings, clock = controls.clock
nonisolated(unsafe) var token = ""
let prescription = Prescription(), key = "", start = Date(), london = TimeZone(identifier: "Europe/London")!
let receipt: [UInt8] = []
let all: [Slot] = [], files: [File] = [], registry = [1, 2], api = API(), screen = LockScreen()
let app = TestApplication(executable: "clinic"), environment = try! TestEnvironment.current
func showLogin() {}
func showOnboarding() {}
func refresh(_ count: Int) {}
func apply(_ theme: Theme) {}
func load(_ file: File, _ strings: RandomStrings) async throws {}
"""
DECLARATION = re.compile(r"(extension|@Suite|@Test|override|struct|final class|enum) ?")


def chunks(code):
    """The top-level parts of a snippet: declarations with their bodies, and statements."""
    parts = []
    for line in code.splitlines():
        begins = DECLARATION.match(line) and not (parts and parts[-1][-1].startswith(("@Test", "@Suite", "]))")))
        if not parts or begins or (parts[-1][-1] == "" and line and not line.startswith((" ", "}", ")", "]"))):
            parts.append([line])
        else:
            parts[-1].append(line)
    return ["\n".join(part).strip() for part in parts if "\n".join(part).strip()]


def wrapped(name, code):
    """A snippet as a complete file."""
    lines = [line for line in code.replace("…", "").splitlines() if not line.startswith("import ")]
    parts = chunks("\n".join(lines))
    extensions = [part for part in parts if part.startswith("extension")]
    overrides = [part for part in parts if part.startswith("override")]
    members, statements = [], []
    for part in parts:
        if part.startswith(("@Test", "@Suite", "struct", "final class", "enum")):
            # An attribute alone belongs to a test that is not shown.
            members.append(part if re.search(r"\b(func|struct|class|enum) ", part) else f"{part} func omitted() {{}}")
        elif part not in extensions and part not in overrides:
            statements.append(part)
    modules = ["Diorama", "DioramaScenarios", "DioramaScreens", "DioramaTesting", "DioramaURLSession", "Foundation"]
    modules += ["FoundationNetworking", "Testing", "XCTest"]
    text = "".join(f"import {module}\n" for module in modules) + "\n".join(extensions)
    # Step definitions that use their object.
    are_steps = any("self." in statement for statement in statements)
    text += f"\nstruct {name}{': StepDefinitions' if are_steps else ''} {{\n" + "\n".join(members)
    text += "\nvar steps: [Step] {\n" if are_steps else "\nfunc statements() async throws {\n"
    text += "\n".join(statements) + "\n}\n}\n"
    if overrides:
        text += f"final class {name}Case: XCTestCase {{\nvar environment: TestEnvironment?\n" + "\n".join(overrides) + "\n}\n"
    return text


def main():
    checks = support.Checks("Swift snippets")
    modules = pathlib.Path(support.binary("diorama")).parent / "Modules"
    if not (modules / "DioramaTesting.swiftmodule").exists():
        sys.exit(f"{modules} has no modules; run `swift build` first")
    swiftc = shutil.which("swiftc")
    plugins = pathlib.Path(swiftc).resolve().parents[1] / "lib/swift/host/plugins/testing"
    # Its headers lie in a folder of their own.
    libxml = subprocess.run(["pkg-config", "--cflags", "libxml-2.0"], capture_output=True, text=True).stdout.split()
    words = [swiftc, "-typecheck", "-swift-version", "6", "-I", modules, "-plugin-path", plugins]
    words += [word for flag in libxml for word in ("-Xcc", flag)]
    for shim in sorted(support.ROOT.glob("Sources/C*/module.modulemap")):
        words += ["-Xcc", f"-fmodule-map-file={shim}"]
    # The Swift package manager writes those of the package's own C and C++ targets.
    for written in sorted(modules.parent.glob("C*.build/module.modulemap")):
        words += ["-Xcc", f"-fmodule-map-file={written}"]
    documents = [support.ROOT / "README.md", *sorted(support.ROOT.glob("Sources/*/*.docc/*.md"))]
    with support.folder() as folder:
        (folder / "Context.swift").write_text(CONTEXT, encoding="utf-8")
        names = []
        for document in documents:
            found = re.findall(r"^```swift\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
            for number, code in enumerate(found, 1):
                name = f"{document.stem}{number}"
                (folder / f"{name}.swift").write_text(wrapped(name, code), encoding="utf-8")
                names.append(name)
        ended = support.finish([*map(str, words), *map(str, sorted(folder.glob("*.swift")))])
        errors = re.findall(r"^\S*/(\w+)\.swift:\d+:\d+: (error: .*)", ended.stderr, re.MULTILINE)
        for name in names:
            own = [text for place, text in errors if place == name]
            checks.that(not own, f"the Swift code of {name} compiles", "\n".join(own))
        if ended.returncode and not any(place in names for place, _ in errors):
            checks.that(False, "the snippets can be type-checked", ended.stderr[-1500:])
    checks.end()


main()
