"""Without a C library, the build names the package to install: each shim is compiled with its headers hidden."""

import re

import support

# A system library of Package.swift, with what provides it: its name, the packages of Debian, those of Homebrew.
LIBRARY = r'\.systemLibrary\(\s*name: "(\w+)"[^()]*providers: \[\.apt\(\[(.*?)\]\)(?:, \.brew\(\[(.*?)\]\))?\]'
SYSTEM_PACKAGES = set(re.findall(r"^apt: (\S+)", (support.ROOT / "Config/system-packages").read_text(), re.M))


def main():
    checks = support.Checks("missing libraries")
    libraries = re.findall(LIBRARY, (support.ROOT / "Package.swift").read_text())
    checks.that(len(libraries) > 7, "Package.swift has the libraries", libraries)
    for name, apt, brew in libraries:
        # -nostdinc hides every header, as if no package were installed.
        shim = support.ROOT / "Sources" / name / "shim.h"
        compiled = support.finish(["clang", "-fsyntax-only", "-nostdinc", "-x", "c", shim])
        errors = "\n".join(re.findall(r"error: (.* is missing\. .*)", compiled.stderr))
        commands = [f"apt-get install {package}" for package in re.findall(r'"(.*?)"', apt)]
        commands += [f"brew install {package}" for package in re.findall(r'"(.*?)"', brew)]
        for command in commands:
            # Not as the beginning of a longer name.
            isNamed = re.search(rf"\b{re.escape(command)}(?![\w-])", errors)
            checks.that(isNamed, f"{name} without its headers: the error says {command}", compiled.stderr)
        for package in re.findall(r'"(.*?)"', apt):
            checks.that(package in SYSTEM_PACKAGES, f"Config/system-packages has {package}", SYSTEM_PACKAGES)
    checks.end()


main()
