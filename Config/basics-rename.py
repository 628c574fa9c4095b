"""Renames what moved to Basics and adds `import Basics`; idempotent. Run in the repository's root.

basics-rename.py          the textual part
basics-rename.py --fix    then builds again and again (needs the build lock), fixing imports as the compiler asks
"""
import glob, re, subprocess, sys, pathlib

RENAMES = [
    (r'\bHAR\.Base64\b', 'Base64'),
    (r'\b(?:HAR\.)?Timestamp\.days\(year:', 'RFC3339.daysSince1970(year:'),
    (r'\b(?:HAR\.)?Timestamp\.text\(seconds:', 'RFC3339.format(seconds:'),
    (r'\bHAR\.Timestamp\b', 'Instant'),
    (r'\bLocked(?=[<(])', 'Guarded'),
    (r'\(RFC3339\.formatExactly\)', ' { RFC3339.format($0, exactly: true) }'),
    (r'\(RFC3339\.format\)', ' { RFC3339.format($0) }'),
    (r'\bRFC3339\.formatExactly\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)', r'RFC3339.format(\1, exactly: true)'),
]
RENAMES += [
    (r'\bContractValue\.maximumDepth\b', 'JSON.maximumDecodedDepth'),
    (r'\b(?:ContractValue|ContractJSON)\b', 'JSON'),
    (r'\bContractError\((\s*)', r'CodedError(\1.broken, '),
    (r'\bContractError\b', 'CodedError'),
]
# One error type.
OLD_ERRORS = r'(?:EnvironmentError|CassetteError|InputFileError|InvalidOrigin|PortUnavailable|PortserverError|FileFailure)'
RENAMES += [
    (rf'\b([Aa])n (`*){OLD_ERRORS}\b', r'\1 \2CodedError'),
    (rf'(?<![\w.])(?:EnvironmentService\.)?{OLD_ERRORS}\b', 'CodedError'),
    # What only handed an error on, or gave it another type.
    (r'catch let error as CodedError \{\s*throw error\s*\} catch \{\s*throw CodedError\(', 'catch {\n      throw error as? CodedError ?? CodedError('),
]
NAMES = (r'JSONPath|JSONWalker|CodedError|AnyKey|JSON|JSONError|JSONIndex|JSONReader|EditDistance|RFC3339|Base64|Guarded'
         r'|hasSameBytes|escapedForTerminal|escapedJSONForTerminal')
TYPES = r'JSONPath|JSONWalker|CodedError|AnyKey|JSON|JSONError|JSONIndex|JSONReader|EditDistance|RFC3339|Base64|Guarded'
IMPORT = re.compile(r'^(@testable )?(package |public )?import ', re.M)


def code(text):
    return re.sub(r'//.*|"(?:\\.|[^"\\\n])*"', '', text)


def add(text, module, access=''):
    if re.search(rf'^\s*(@testable )?(package |public )?import {module}$', text, re.M): return text
    found = IMPORT.search(text)
    line = f'{access}import {module}\n'
    if found is None:
        # Behind a license or shebang there is none here; a file comment belongs to the first declaration.
        return line + '\n' + text
    return text[:found.start()] + line + text[found.start():]


def signatures(text):
    """The package and public declarations, without their bodies."""
    return '\n'.join(re.findall(
        r'^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:package|public|@usableFromInline)\b[^{]*', code(text), re.M))


def textual():
    for name in sorted(glob.glob('Sources/**/*.swift', recursive=True) + glob.glob('Tests/**/*.swift', recursive=True)):
        path = pathlib.Path(name)
        old = text = path.read_text()
        if name.startswith('Sources/Basics/'): continue
        for pattern, new in RENAMES: text = re.sub(pattern, new, text)
        if re.search(rf'(?<![\w.])(?:{TYPES})\b|\.(?:hasSameBytes|escapedForTerminal|escapedJSONForTerminal)\b', code(text)):
            access = 'package ' if re.search(rf'(?<![\w.])(?:{TYPES})\b', signatures(text)) and name.startswith('Sources') else ''
            text = add(text, 'Basics', access)
        if text != old: path.write_text(text)


def fix():
    for turn in range(int(sys.argv[sys.argv.index("--fix") + 1]) if len(sys.argv) > sys.argv.index("--fix") + 1 else 30):
        out = subprocess.run(['swift', 'build', '--build-tests'],
                             capture_output=True, text=True)
        out = out.stdout + out.stderr
        pathlib.Path('.build/basics-fix.out').write_text(out)
        if 'error:' not in out: print('built' if 'Build complete' in out else out[-500:]); return
        count = 0
        others = set()
        for found in re.finditer(r'^(/\S+\.swift):(\d+):(\d+): error: (.*)$', out, re.M):
            path = pathlib.Path(found[1]); text = old = path.read_text(); message = found[4]
            if m := re.search(r"(package|public) import of '(\w+)' was not used", message):
                text = re.sub(rf'^( *){m[1]} import {m[2]}$', rf'\1import {m[2]}', text, flags=re.M)
            elif m := re.search(r"missing import of defining module '(\w+)'", message):
                text = add(text, m[1])
            elif m := re.search(r"cannot find (?:type )?'(\w+)' in scope", message):
                if re.fullmatch(NAMES + '|Instant', m[1]): text = add(text, 'Basics')
            if 'uses an internal type' in message:
                text = re.sub(r'^import Basics$', 'package import Basics', text, flags=re.M)
            for m in re.finditer(r"imported by this file as 'internal' from '(\w+)'", message):
                text = re.sub(rf'^( *)import {m[1]}$', rf'\1package import {m[1]}', text, flags=re.M)
            if text != old: path.write_text(text); count += 1
            else: others.add(found[0])
        for found in re.finditer(r"^(/\S+\.swift):(\d+):(\d+): note: .*imported by this file as 'internal' from '(\w+)'", out, re.M):
            path = pathlib.Path(found[1]); text = old = path.read_text()
            text = re.sub(rf'^( *)import {found[4]}$', rf'\1package import {found[4]}', text, flags=re.M)
            if text != old: path.write_text(text); count += 1
        print('turn', turn, 'changed', count, 'left', len(others))
        if count == 0: print('\n'.join(sorted(others)[:60])); return


def package():
    """Adds "Basics" to the dependencies of the targets whose sources import it."""
    path = pathlib.Path('Package.swift'); text = path.read_text()
    if '.target(name: "Basics")' not in text:
        text = text.replace('    .target(name: "HTTPMessages"', '    .target(name: "Basics"),\n    .target(name: "HTTPMessages"', 1)
        text = text.replace('    .testTarget(name: "HTTPMessagesTests"',
                            '    .testTarget(name: "BasicsTests", dependencies: ["TestSupport", "Basics"]),\n    .testTarget(name: "HTTPMessagesTests"', 1)
    def edit(found):
        block = found[0]
        name = re.search(r'name: "(\w+)"', block)[1]
        folder = re.search(r'path: "([^"]+)"', block)
        folder = folder[1] if folder else ('Tests/' if 'testTarget' in block else 'Sources/') + name
        uses = any(re.search(r'^\s*(?:@testable )?(?:package |public )?import Basics$', pathlib.Path(f).read_text(), re.M)
                   for f in glob.glob(folder + '/**/*.swift', recursive=True))
        if not uses or '"Basics"' in block: return block
        if 'dependencies: [' in block: return re.sub(r'dependencies: \[(\s*)', r'dependencies: [\1"Basics", ', block, count=1)
        return re.sub(r'(name: "\w+")', r'\1, dependencies: ["Basics"]', block, count=1)
    text = re.sub(r'^    \.(?:target|executableTarget|testTarget)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)', edit, text, flags=re.M)
    path.write_text(text)


if '--fix' in sys.argv: fix()
else: textual(); package()
