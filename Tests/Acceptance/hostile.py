"""Attacks by strangers: hostile cassettes (a pull request replayed in CI), senders and upstreams, other sites' pages,
decompression bombs, irregular files, damaged state. Uses the corpus in Hostile/.

    hostile.py [--only PART …]

    daemon_soak.py measures the memory that ended environments leave behind.
"""

import argparse
import time

import hostile_cassettes
import hostile_files
import hostile_senders
import support
import victim

PARTS = {
    "endless": hostile_senders.endless_lines,
    "bodies": hostile_cassettes.bodies,
    "links": hostile_cassettes.links,
    "secrets": hostile_cassettes.secrets,
    "state": hostile_files.state,
    "irregular": hostile_files.irregular,
    "bombs": hostile_cassettes.bombs,
    "terminal": hostile_cassettes.terminal,
    "framing": hostile_senders.framing,
    "answers": hostile_senders.answers,
    "pages": hostile_senders.pages,
    "modes": hostile_senders.modes,
    "descriptors": hostile_senders.few_descriptors,
    "threats": hostile_files.threats,
}


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    checks = support.Checks("hostile")
    for name in options.parse_args().only:
        started = time.monotonic()
        with support.folder() as folder:
            PARTS[name](checks, folder)
        checks.say(f"{name}: {time.monotonic() - started:.1f} s")
    checks.end()


main()
