#!/usr/bin/env python3
"""Fuzzes each parser with libFuzzer (Tests/Fuzzing/Parsers), two at a time.

    fuzz.py [SECONDS [PARSER…]]     SECONDS for each, default 60

A fault is a trap, a read out of bounds, five seconds of processor time, or 512 MB of memory. It fails the run; the input is
kept in .build/fuzz/faults, and how to repeat it is printed. Inputs that reached new code stay in .build/fuzz/found for the
next run. Tests/Fuzzing/Corpus has the first inputs of each parser, and the inputs of earlier faults.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / ".build" / "fuzz"
FAULTS = SCRATCH / "faults"
SWIFT = os.environ.get("SWIFT", "swift")
# What guides libFuzzer: the edges that were taken, and the values that were compared.
COVERAGE = "edge,indirect-calls,trace-cmp,inline-8bit-counters,pc-table"
# The sanitizer keeps freed memory for a while, to find uses after free: little, so that the 512 MB are the parser's.
OPTIONS = "detect_leaks=0:quarantine_size_mb=16:allocator_may_return_null=1"


def runtime():
    """The toolchain's libFuzzer without its main function."""
    info = json.loads(subprocess.run(["swiftc", "-print-target-info"], stdout=subprocess.PIPE, check=True).stdout)
    folder = pathlib.Path(info["paths"]["runtimeResourcePath"]) / "clang" / "lib"
    found = sorted(folder.glob(f"*/libclang_rt.fuzzer_no_main-{os.uname().machine}.a")) + sorted(
        folder.glob("darwin/libclang_rt.fuzzer_no_main_osx.a"))
    if not found:
        sys.exit(f"fuzz: no libFuzzer in {folder}; install a toolchain from swift.org")
    return found[0]


def build():
    command = [SWIFT, "build", "--configuration", "release", "--sanitize", "address", "--scratch-path", SCRATCH]
    command += ["--product", "Fuzzing", "-Xswiftc", "-DFUZZING", "-Xswiftc", f"-sanitize-coverage={COVERAGE}"]
    command += ["-Xlinker", runtime(), "-Xlinker", "-lstdc++" if sys.platform == "linux" else "-lc++"]
    print("fuzz: building the parsers for libFuzzer", flush=True)
    # Package.swift looks at PWD.
    variables = dict(os.environ, PWD=str(ROOT))
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        # The linker prints a warning for each function of the sanitizer.
        print("\n".join(line for line in done.stdout.splitlines() if "Cannot export local" not in line))
        sys.exit("fuzz: the build failed")
    return SCRATCH / "release" / "Fuzzing"


def fuzz(program, parser, seconds):
    """Fuzzes one parser; its figures in a line, and whether it passed."""
    corpus = ROOT / "Tests" / "Fuzzing" / "Corpus" / parser
    if not corpus.is_dir():
        return f"{parser:10} has no corpus; put small files of its format into {corpus}", False
    found = SCRATCH / "found" / parser
    found.mkdir(parents=True, exist_ok=True)
    FAULTS.mkdir(parents=True, exist_ok=True)
    command = [program, parser, f"-max_total_time={seconds}", "-max_len=65536", "-rss_limit_mb=512"]
    # In wall time, for an input that hangs; the driver limits processor time.
    command += ["-timeout=60", f"-artifact_prefix={FAULTS}/{parser}-", "-print_final_stats=1", found, corpus]
    environment = dict(os.environ, ASAN_OPTIONS=OPTIONS, SWIFT_BACKTRACE="enable=no")
    log = FAULTS / f"{parser}.log"
    with open(log, "w") as output:
        code = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output).returncode
    text = log.read_text(errors="replace")
    runs = re.search(r"number_of_executed_units: *(\d+)", text)
    edges = re.findall(r" cov: (\d+) ", text)
    peak = re.search(r"peak_rss_mb: *(\d+)", text)
    figures = f"{int(runs[1]) if runs else 0:>12,} inputs, {edges[-1] if edges else 0:>6} edges"
    figures += f", {peak[1] if peak else '?':>4} MB at most"
    if code == 0:
        log.unlink()
        return f"{parser:10} {figures}", True
    why = re.search(r"^.*(?:Fatal error|ERROR: \w+Sanitizer|ERROR: libFuzzer).*$", text, re.M)
    kept = re.search(r"Test unit written to (\S+)", text)
    lines = [f"{parser:10} {figures}: A FAULT", f"  {why[0].strip() if why else f'it exited with {code}'}"]
    if kept:
        lines += [
            f"  repeat:   ASAN_OPTIONS={OPTIONS} SWIFT_BACKTRACE=enable=no {program} {parser} {kept[1]}",
            f"  debug:    swift build --product Fuzzing && .build/debug/Fuzzing {parser} {kept[1]}",
            f"  fix it, then keep the input: cp {kept[1]} {corpus}/"]
    return "\n".join(lines + [f"  log:      {log}"]), False


def main():
    words = sys.argv[1:]
    seconds = int(words[0]) if words else 60
    program = build()
    environment = dict(os.environ, ASAN_OPTIONS=OPTIONS)
    names = subprocess.run([program], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    chosen = words[1:] or names
    for name in chosen:
        if name not in names:
            sys.exit(f"fuzz: no parser named {name}; there are: {' '.join(names)}")
    print(f"fuzz: {len(chosen)} parsers, {seconds} s each, two at a time", flush=True)
    passed = True
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for line, isFine in pool.map(lambda name: fuzz(program, name, seconds), chosen):
            print(line, flush=True)
            passed = passed and isFine
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main()
