"""Tests the clock of unmodified programs: builds a supervisor, runs real programs under it, and moves their clock."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import support

SOURCES = support.ROOT / "Sources/ClockSupervision"
PROGRAMS = support.HERE / "IsolationClock"
REAL, FROZEN, OFFSET, SCALED = range(4)
SECOND = 10**9
# 2018-01-01 00:00:00.123456789 UTC, before the epoch, at the epoch, and after 2038.
PAST, BEFORE_1970, EPOCH, FUTURE = 1514764800123456789, -1_500_000_000 * SECOND + 1, SECOND // 2, 4102444800 * SECOND

GO = """package main
import ("fmt"; "time")
func main() {
  first := time.Now()
  time.Sleep(200 * time.Millisecond)
  fmt.Println(first.UnixNano(), time.Since(first).Milliseconds())
}
"""
NODE = """const first = Date.now(), start = process.hrtime.bigint()
setTimeout(() => console.log(`${first}000000 ${(process.hrtime.bigint() - start) / 1000000n}`), 200)
"""
JAVA = """import java.time.*; import java.util.*; import java.util.concurrent.*; import java.util.concurrent.locks.*;
public class Clocks {
  public static void main(String[] words) throws Exception {
    Instant first = Instant.now();
    long start = System.nanoTime();
    Thread.sleep(100);
    new CountDownLatch(1).await(100, TimeUnit.MILLISECONDS);
    ReentrantLock lock = new ReentrantLock();
    lock.lock();
    if (words.length > 0 && words[0].equals("park")) LockSupport.parkUntil(System.currentTimeMillis() + 100);
    if (words.length > 0 && words[0].equals("await")) lock.newCondition().awaitUntil(new Date(System.currentTimeMillis() + 100));
    long took = (System.nanoTime() - start) / 1000000;
    System.out.println(first.getEpochSecond() * 1000000000L + first.getNano() + " " + took);
  }
}
"""
PYTHON = """import time; first = time.time_ns(); start = time.monotonic()
import datetime, queue, threading
lock = threading.Lock(); lock.acquire()
time.sleep(.1); threading.Event().wait(.1); lock.acquire(timeout=.1)
try: queue.Queue().get(timeout=.1)
except queue.Empty: pass
print(first, int((time.monotonic() - start) * 1000), datetime.datetime.now(datetime.timezone.utc).year)
"""
# A program without a C library: it exits with 0 if the time is after 2020.
BARE = """#include <sys/syscall.h>
__attribute__((used)) void _start(void) {
  long time[2], result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_clock_gettime), "D"(0), "S"(time) : "rcx", "r11", "memory");
  __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(time[0] < 1577836800));
}
"""
# A 32-bit program without a C library. It sets up a thread area, as those with one do.
SMALL = """__attribute__((used)) void _start(void) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(243), "b"(0) : "memory");
  __asm__ volatile("int $0x80" : : "a"(1), "b"(0));
}
"""


class Supervised:
    """A program under the supervisor."""

    def __init__(self, folder, words, mode=FROZEN, shown=PAST, rate=1.0, supervisor="supervise"):
        control, self.control = os.pipe()
        self.answers, answers = os.pipe()
        words = [folder / supervisor, control, answers, mode, shown, rate, *words]
        self.process = subprocess.Popen(
            [str(word) for word in words], pass_fds=(control, answers), env={**support.environment(), "TZ": "UTC"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.close(control)
        os.close(answers)

    def move(self, mode, shown, rate=1.0):
        """Moves the clock; returns the real time at which it showed `shown`."""
        os.write(self.control, f"{mode} {shown} {rate}\n".encode())
        return int(os.read(self.answers, 64))

    def ask(self):
        """The numbers that the program prints for a line of input."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()]

    def end(self):
        """Waits for the end. Gives the output; what was reported is in `reports`, and the exit status in `status`."""
        try:
            output, self.reports = self.process.communicate(timeout=support.PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            output, self.reports = self.process.communicate()
            self.reports += "it did not end"
        self.status = self.process.returncode
        os.close(self.control)
        os.close(self.answers)
        return output


def run(checks, folder, what, words, *clock, **options):
    """Runs a program to its end; checks that it succeeds, and that no program has kept the real clock."""
    program = Supervised(folder, words, *clock, **options)
    output = program.end()
    checks.that(program.status == 0 and not program.reports, f"{what}: succeeds, with nothing to report", f"{program.status} {program.reports}")
    return output.strip()


CC = ["cc", "-std=c17", "-Wall", "-Wextra", "-Werror", "-O1", "-pthread"]


def compile(folder):
    """Builds the supervisor, the programs and the library."""
    build = [*CC, "-I", SOURCES / "include", *SOURCES.glob("*.c"), PROGRAMS / "supervise.c", "-o", folder / "supervise"]
    # As on Linux before 5.19, where any signal interrupts a call that the supervisor answers.
    interrupted, others = folder / "filter.c", set(SOURCES.glob("*.c")) - {SOURCES / "filter.c"}
    flag = "flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV"
    text = (SOURCES / "filter.c").read_text()
    assert flag in text
    interrupted.write_text(text.replace(flag, "flags"))
    for words in (
        build, [*CC, PROGRAMS / "programs.c", "-lrt", "-o", folder / "programs"],
        [*CC, "-static", PROGRAMS / "programs.c", "-lrt", "-o", folder / "static"],
        [support.ROOT / "Config/clock-library", folder / "libdiorama-clock.so"],
        [*CC, "-I", SOURCES, "-I", SOURCES / "include", *others, interrupted, PROGRAMS / "supervise.c", "-o", folder / "supervise-interrupted"],
    ):
        subprocess.run([str(word) for word in words], check=True)


def check_code(checks, folder):
    """Assembles the comments beside the machine code."""
    for architecture, target in (("x86_64", "x86_64-linux-gnu"), ("arm64", "aarch64-linux-gnu")):
        text = (SOURCES / f"code_{architecture}.h").read_text()
        for name in ("clock_code", "random_code"):
            assembly = re.search(rf"/\* assembly of {name}\n(.*?)\*/", text, re.S).group(1)
            listed = re.search(rf"char {name}\[\] = {{(.*?)}};", text, re.S).group(1)
            source, result, code = folder / "code.s", folder / "code.o", folder / "code.bin"
            source.write_text(assembly)
            if not shutil.which("clang") or not shutil.which("llvm-objcopy"):
                checks.say(f"not checked, since clang or llvm-objcopy is not installed: the bytes of {name} for {architecture}")
                continue
            made = support.finish(["clang", f"--target={target}", "-c", "-x", "assembler", str(source), "-o", str(result)])
            if not checks.that(made.returncode == 0, f"{architecture}: {name} can be assembled", made.stderr):
                continue
            support.finish(["llvm-objcopy", "-O", "binary", "-j", ".text", str(result), str(code)])
            listed = bytes(int(byte, 16) for byte in re.findall(r"0x(\w\w)", listed))
            checks.that(code.read_bytes() == listed, f"{architecture}: the bytes of {name} are those of the assembly beside it")


def check_arithmetic(checks, folder):
    """Calls the machine code, on arm64 in an emulator, and compares it with the arithmetic in C."""
    words = ["-static", "-I", SOURCES, "-I", SOURCES / "include", SOURCES / "page.c", PROGRAMS / "code.c", "-o", folder / "code"]
    for architecture, cc, prefix in ((os.uname().machine, "cc", []), ("aarch64", "aarch64-linux-gnu-gcc", ["qemu-aarch64"])):
        if not all(map(shutil.which, [cc, *prefix])):
            checks.say(f"not checked, since {cc} or an emulator is not installed: the arithmetic for {architecture}")
            continue
        subprocess.run([str(word) for word in [cc, *CC[1:], *words]], check=True)
        ended = support.finish([*prefix, str(folder / "code")])
        checks.that(ended.returncode == 0 and ended.stdout.endswith(" 0\n"), f"{architecture}: the code computes what C computes", ended.stdout)


def check_prologues(checks, folder):
    """Moves the first instructions of functions, as those of the vDSO."""
    if os.uname().machine != "x86_64":
        checks.say("not checked, since they are those of x86-64: the first instructions of functions")
        return
    words = [*CC, "-std=gnu17", "-Wno-unused-function", "-I", SOURCES, "-I", SOURCES / "include", PROGRAMS / "prologues.c", "-o", folder / "prologues"]
    subprocess.run([str(word) for word in words], check=True)
    ended = support.finish([str(folder / "prologues")])
    checks.that(ended.returncode == 0, "functions whose first instructions were moved do the same as before", ended.stdout)


def check_every_clock(checks, folder):
    """Every function and system call that tells the time, in a dynamic and a static program."""
    musl = shutil.which("musl-gcc")
    if musl:
        subprocess.run([musl, "-static", "-D_GNU_SOURCE", "-O1", "-x", "c", "-", "-o", folder / "musl"], check=True, text=True, input="""
          #include <stdio.h>
          #include <time.h>
          int main(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); printf("realtime %lld\\n", t.tv_sec * 1000000000LL + t.tv_nsec); }""")
    else:
        checks.say("not checked, since musl-gcc is not installed: a program with musl")
    for name in ["programs", "static"] + (["musl"] if musl else []):
        for shown in (PAST, BEFORE_1970, EPOCH, FUTURE):
            output = run(checks, folder, f"{name} at {shown}", [folder / name, "raw"], FROZEN, shown)
            seen = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in output.splitlines()}
            micros, seconds = shown // 1000 * 1000, shown // SECOND * SECOND
            wanted = {
                "realtime": shown, "coarse": shown, "tai": shown, "alarm": shown, "gettimeofday": micros, "time": seconds,
                "raw realtime": shown, "raw coarse": shown, "raw tai": shown, "raw gettimeofday": micros, "raw zone": 0,
                "raw time": seconds, "raw time returned": seconds, "raw fault": 14, "raw fault of null": 14, "unknown clock": 22,
            }
            wrong = {key: seen[key] for key in seen if key in wanted and seen[key] != wanted[key]}
            checks.that(seen and not wrong, f"{name}: all realtime clocks show {shown}", f"{output} {wrong}")
            checks.that(name == "musl" or abs(seen["real"] - time.time_ns()) < 60 * SECOND, f"{name}: those who know how learn the real time", output)
            steady = [seen[key] for key in seen if "difference" in key]
            checks.that(all(-SECOND < each <= 0 for each in steady), f"{name}: monotonic clocks stay real", output)


def programs(checks, folder):
    """Real programs that print the time in nanoseconds and the milliseconds that their waits took; and the least of those."""
    (folder / "clocks.go").write_text(GO)
    (folder / "Clocks.java").write_text(JAVA)
    found = [
        ("date", ["date", "+%s%N 0"], 0),
        ("bash", ["bash", "-c", 't=$EPOCHREALTIME; echo "${t/[.,]/}000 0"'], 0),
        ("Python", [sys.executable, "-c", PYTHON], 400),
        ("perl", ["perl", "-MTime::HiRes", "-e", 'printf "%d%09d 0\\n", time, (Time::HiRes::clock_gettime(0) - time) * 1e9'], 0),
        ("ruby", ["ruby", "-e", "t = Process.clock_gettime(0, :nanosecond); s = Process.clock_gettime(1); sleep 0.2; Thread.new { Thread.stop }.join(0.1); puts [t, ((Process.clock_gettime(1) - s) * 1000).to_i].join(' ')"], 200),
        # Its timers count whole milliseconds, so they may end one early.
        ("node", ["node", "-e", NODE], 199),
        ("static Go", [folder / "go"], 200),
        ("Java", ["java", "-cp", folder, "Clocks"], 200),
    ]
    if shutil.which("go"):
        variables = {**support.environment(), "CGO_ENABLED": "0", "GOCACHE": str(folder / "cache"), "GOTOOLCHAIN": "local", "GOFLAGS": ""}
        subprocess.run(["go", "build", "-o", folder / "go", folder / "clocks.go"], check=True, env=variables, cwd=folder)
    if shutil.which("java"):
        subprocess.run(["javac", "-d", folder, folder / "Clocks.java"], check=True)
    for name, words, _ in found:
        if not shutil.which(words[0]):
            checks.say(f"not checked, since it is not installed: {name}")
    return [each for each in found if shutil.which(each[1][0])]


def numbers(output):
    return [int(word) for word in output.split()] if re.fullmatch(r"[-\d\s]+", output or "-") and output else []


def check_programs(checks, folder, found):
    """Each program, with each kind of clock."""
    for name, words, least in found:
        # Some read microseconds or milliseconds.
        seen = numbers(run(checks, folder, f"{name}, frozen", words))
        checks.that(seen and PAST - 10**6 <= seen[0] <= PAST and least <= seen[1] < least + 10_000, f"{name}: frozen, and waits take as long as before", seen)
        before = time.time_ns()
        seen = numbers(run(checks, folder, f"{name}, ticking", words, OFFSET, FUTURE))
        ran = time.time_ns() - before
        checks.that(seen and FUTURE - 10**6 <= seen[0] <= FUTURE + ran and least <= seen[1] < least + 10_000, f"{name}: ticking, and waits take as long as before", seen)
        before = time.time_ns()
        seen = numbers(run(checks, folder, f"{name}, scaled", words, SCALED, PAST, 1000.0))
        ran = time.time_ns() - before
        checks.that(seen and PAST - 10**6 <= seen[0] <= PAST + ran * 1000 and least <= seen[1] < least + 10_000, f"{name}: scaled, and waits take as long as before", seen)
        before = time.time_ns()
        seen = numbers(run(checks, folder, f"{name}, real", words, REAL, 0))
        checks.that(seen and before - 10**6 <= seen[0] <= time.time_ns(), f"{name}: the real clock, if that is wanted", seen)
    output = run(checks, folder, "forks", ["bash", "-c", "(date +%s; sh -c 'date +%s' & wait; env sh -c 'exec date +%s') & wait"])
    checks.that(output.split() == [str(PAST // SECOND)] * 3, "children of children follow the clock, too", output)
    marked = folder / "marked"
    before = time.time()
    run(checks, folder, "touch", ["touch", marked])
    checks.that(before - 1 <= marked.stat().st_mtime <= time.time(), "file times stay real", marked.stat().st_mtime)


def check_moves(checks, folder):
    """Moves the clock of running programs."""
    with_words = {"C": [folder / "programs", "follow"], "static C": [folder / "static", "follow"], "Python": [sys.executable, "-c", "import sys, time\nfor _ in sys.stdin: print(time.time_ns(), time.time_ns(), flush=True)"]}
    for name, words in with_words.items():
        program = Supervised(folder, words)
        checks.that(program.ask() == [PAST, PAST], f"{name}: shows the first time")
        for shown in (FUTURE, BEFORE_1970, EPOCH, PAST + 1):
            program.move(FROZEN, shown)
            seen = program.ask()
            checks.that(seen == [shown, shown], f"{name}: frozen at {shown}, at once, on each thread", seen)
        for mode, rate in ((OFFSET, 1.0), (SCALED, 1.0), (SCALED, 3600.0), (SCALED, 0.25)):
            moved = program.move(mode, FUTURE, rate)
            seen = program.ask()
            ends = sorted([FUTURE, FUTURE + int((time.time_ns() - moved) * rate)])
            checks.that(seen and all(ends[0] <= each <= ends[1] for each in seen), f"{name}: runs at the rate {rate}", f"{seen} {ends}")
        program.move(REAL, 0)
        before = time.time_ns()
        seen = program.ask()
        checks.that(all(before <= each <= time.time_ns() for each in seen), f"{name}: returns to the real clock", seen)
        program.end()
        checks.that(program.status == 0 and not program.reports, f"{name}: succeeds", program.reports)
    program = Supervised(folder, [folder / "programs", "torn"], FROZEN, 7 * SECOND + 7)
    program.process.stdout.readline()
    for turn in range(5000):
        program.move(FROZEN, (turn + 10**8) * SECOND + turn + 10**8)
    reads, wrong = map(int, program.end().split())
    checks.that(reads > 1000 and wrong == 0, "no read mixes two clocks while they are moved", f"{wrong} of {reads}")
    checks.say(f"5,000 moves during {reads} reads of four threads")


def check_deadlines(checks, folder, found):
    """Waits until an absolute time, with the library."""
    library = folder / "libdiorama-clock.so"
    words = ["env", f"LD_PRELOAD={library}", folder / "programs", "deadlines"]
    cases = [("frozen in the past", FROZEN, PAST, 1.0), ("frozen at the epoch", FROZEN, EPOCH, 1.0), ("frozen in the future", FROZEN, FUTURE, 1.0),
             ("ticking", OFFSET, FUTURE, 1.0), ("scaled", SCALED, PAST, 2.0), ("real", REAL, 0, 1.0)]
    outputs = {name: run(checks, folder, f"deadlines, {name}", words, *clock) for name, *clock in cases}
    alone = support.finish(list(map(str, words)))
    checks.that(alone.returncode == 0 and not alone.stderr, "the library does no harm in a program without a supervisor", alone.stderr)
    outputs["without a supervisor"] = alone.stdout
    for name, output in outputs.items():
        waits = [line.split(",") for line in output.split("\n") if line]
        checks.that(len(waits) == 28, f"{name}: all waits have ended", output)
        for wait, result, took in waits:
            # 1: a timer that expired once; 4: thrd_timedout; 22: EINVAL; 110: ETIMEDOUT.
            wanted = {"clock_nanosleep": "0", "timerfd_settime": "1", "timer_settime": "1", "cnd_timedwait": "4", "mtx_timedlock": "4", "invalid": "22"}
            if result == "38" and wait.startswith("mq_"):
                checks.say(f"not checked, since this kernel has no message queues: {wait}")
                continue
            checks.that(result == wanted.get(wait.split()[0], "110"), f"{wait}, {name}: its result is unchanged", result)
            checks.that(wait == "invalid" or 40_000 < int(took) < 5_000_000, f"{wait}, {name}: waits a tenth of a second", took)
    if shutil.which("java"):
        # awaitUntil ends when the clock shows the deadline, which a frozen one never does.
        for wait, mode in (("park", FROZEN), ("park", OFFSET), ("await", OFFSET)):
            words = ["env", f"LD_PRELOAD={library}", "java", "-cp", folder, "Clocks", wait]
            seen = numbers(run(checks, folder, f"Java, {wait}, {mode}", words, mode))
            checks.that(seen and 300 <= seen[1] < 10_000, f"Java, {wait}: waits as long as before, with clock {mode}", seen)
    for name, program, least in found:
        seen = numbers(run(checks, folder, f"{name} with the library", ["env", f"LD_PRELOAD={library}", *program]))
        checks.that(seen and PAST - 10**6 <= seen[0] <= PAST and least <= seen[1] < least + 10_000, f"{name}: unharmed by the library", seen)


def check_users(checks, folder):
    """Without the rights of root, and with other users and namespaces inside."""
    date = ["date", "+%s"]
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    inside = {"a debugger": ["strace", "-f", "-o", "/dev/null"], "address randomisation off": ["setarch", "-R"]}
    if os.getuid() == 0:
        folder.chmod(0o755)
        inside["another user"] = nobody
        ended = support.finish([*nobody, str(folder / "supervise"), "8", "9", str(FROZEN), str(PAST), "1", *date])
        checks.that(ended.stdout.strip() == str(PAST // SECOND) and not ended.stderr, "works without the rights of root", f"{ended.stdout}{ended.stderr}")
        ended = support.finish([*nobody, str(folder / "supervise"), "8", "9", str(FROZEN), str(PAST), "1", str(folder / "programs"), "undumpable"])
        lines = ended.stderr.splitlines()
        checks.that(len(lines) == 1 and "it became undumpable (PR_SET_DUMPABLE) before it read the clock: Permission denied; " in lines[0] and ended.returncode == 0, "an undumpable program is reported once without the rights of root", f"{ended.stdout}{ended.stderr}")
        undumpable = f"realtime {PAST}\nagain {PAST}\ntai {PAST}\nmicroseconds {PAST // 1000}\nwrong 0"
        checks.that(ended.stdout.strip() == undumpable, "and has the clock, also in threads and amid signals", ended.stdout)
        output = run(checks, folder, "undumpable", [folder / "programs", "undumpable"])
        checks.that(output == undumpable, "and with them", output)
    else:
        checks.say("not checked, since this is not root: another user inside")
    if support.finish(["unshare", "-Urpf", "--mount-proc", "true"]).returncode == 0:
        inside["other namespaces"] = ["unshare", "-Urpf", "--mount-proc"]
    else:
        checks.say("not checked, since this kernel does not allow them: other namespaces")
    for name, words in inside.items():
        if not shutil.which(words[0]):
            checks.say(f"not checked, since {words[0]} is not installed: {name}")
            continue
        output = run(checks, folder, name, [*words, *date])
        checks.that(output == str(PAST // SECOND), f"works inside with {name}", output)


def check_failures(checks, folder):
    """What cannot map the page makes system calls, what cannot get the clock keeps the real one, and both are reported."""
    for what, words, failed in (
        ("free descriptors", ["bash", "-c", f"ulimit -n 3; exec {folder}/static raw"], "(SECCOMP_IOCTL_NOTIF_ADDFD): Too many open files; raise `ulimit -n`"),
        ("room for a page", [folder / "static", "full"], "mmap of the clock's page: Cannot allocate memory; "),
    ):
        program = Supervised(folder, words)
        seen = dict(line.rsplit(" ", 1) for line in program.end().splitlines())
        times = {seen.get(name) for name in ("realtime", "tai", "raw realtime")}
        checks.that(program.status == 0 and times == {str(PAST)}, f"a program without {what} still has the clock", seen)
        checks.that("the clock of static (process" in program.reports and ") is read through slow system calls, and its deadlines stay real" in program.reports and failed in program.reports, "and is reported", program.reports)
        checks.that(program.reports.count("\n") == 1, "once", program.reports)
        checks.that(seen.get("wrong", "0") == "0", "and has it amid signals", seen)
    program = Supervised(folder, [folder / "static", "slow"])
    output = program.end()
    checks.that(output == "wrong 0\n" and program.reports.count("\n") == 1, "threads that cannot get the page have the clock, and are reported once", f"{output} {program.reports}")
    bare = folder / "bare"
    subprocess.run(["cc", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-O1", "-x", "c", "-", "-o", bare], input=BARE, text=True, check=True)
    program = Supervised(folder, [bare])
    program.end()
    checks.that(program.status == 0 and "before the start of a C library" in program.reports, "a program without a C library has the real clock, and is reported", f"{program.status} {program.reports}")
    small = folder / "small"
    made = subprocess.run(["cc", "-m32", "-nostdlib", "-static", "-fno-pie", "-no-pie", "-O1", "-x", "c", "-", "-o", small], input=SMALL, text=True, capture_output=True)
    if made.returncode == 0 and support.finish([str(small)]).returncode == 0:
        program = Supervised(folder, [small])
        program.end()
        checks.that(program.status == 0 and "a 32-bit program" in program.reports, "a 32-bit program runs, and is reported", program.reports)
    else:
        checks.say(f"not checked, since it cannot be built or run: a 32-bit program {made.stderr}")
    program = Supervised(folder, [folder / "supervise", 0, 1, FROZEN, PAST, 1, "true"])
    program.end()
    checks.that(program.status == 70 and "cannot isolate another one" in program.reports, "a supervisor below another one fails, with a reason", program.reports)
    program = Supervised(folder, ["/nonexistent"])
    program.end()
    checks.that(program.status == 70 and "No such file" in program.reports, "a program that does not exist is reported", program.reports)
    killed = run(checks, folder, "kills", [folder / "programs", "kill", "500", shutil.which("true")]).split()
    checks.that(killed and int(killed[0]) > 0 and killed[1] == "0", "programs that are killed while they start leave nothing behind", killed)
    output = run(checks, folder, "signals", [folder / "programs", "signals"])
    checks.that(output == "wrong 0", "raw calls that signals interrupt give the moved time", output)
    for name in ("programs", "static"):
        # Before Linux 5.19, a signal may leave a descriptor.
        for supervisor, *leaks in (("supervise",), ("supervise-interrupted", "leaks")):
            output = run(checks, folder, "first", [folder / name, "first", "400", *leaks], supervisor=supervisor)
            checks.that(output == "wrong 0", f"{name}: concurrent first reads by threads and signal handlers map one page, with {supervisor}", output)
    program = Supervised(folder, [folder / "programs", "first", "200"])
    while program.process.poll() is None:
        program.process.send_signal(signal.SIGSTOP)
        program.process.send_signal(signal.SIGCONT)
    output = program.end()
    checks.that(output == "wrong 0\n" and not program.reports, "first reads are right while the supervisor is stopped and continued", f"{output} {program.reports}")
    output = run(checks, folder, "places", [folder / "programs", "places"])
    checks.that(output == "wrong 0", "raw calls from any place give the moved time", output)
    if os.uname().machine == "x86_64":
        before = time.time_ns()
        output = run(checks, folder, "inside", [folder / "programs", "inside"])
        checks.that(before <= int(output.split()[-1]) <= time.time_ns(), "the vDSO's own calls give the real time", output)
    output = run(checks, folder, "page", [folder / "programs", "page"])
    checks.that(output == "writable 0", "no program can write to the page", output)


def check_costs(checks, folder):
    """Many programs, and what the clock costs."""
    words = [str(folder / "programs"), "spawn", "1000", shutil.which("true")]
    output = run(checks, folder, "32 programs at a time", ["bash", "-c", "seq 500 | xargs -P 32 -I{} date +%s%N | sort | uniq -c"])
    checks.that(output.split() == ["500", str(PAST)], "500 programs, 32 at a time, have the clock", output)
    alone = support.finish(words).stdout.split()
    supervised = run(checks, folder, "1,000 programs", words).split()
    checks.that(supervised and supervised[0] == "0", "1,000 programs in a row succeed", supervised)
    added = float(supervised[1]) - float(alone[1])
    checks.say(f"a program: {float(alone[1]):.0f} µs unsupervised, {float(supervised[1]):.0f} µs supervised, {added:.0f} µs more")
    speeds = {"unpatched": support.finish([str(folder / "programs"), "speed"]).stdout}
    for name, mode, rate in (("frozen", FROZEN, 1), ("ticking", OFFSET, 1), ("scaled", SCALED, 60)):
        speeds[name] = run(checks, folder, f"speed, {name}", [folder / "programs", "speed"], mode, PAST, rate)
    speeds = {name: {line.split()[0]: float(line.split()[1]) for line in output.splitlines()} for name, output in speeds.items()}
    for name, speed in speeds.items():
        ratios = ", ".join(f"{clock} {took:.1f} ns ({took / speeds['unpatched'][clock]:.2f})" for clock, took in speed.items())
        checks.say(f"clock_gettime, {name}: {ratios}")


def main():
    checks = support.Checks("the clock of unmodified programs")
    with support.folder() as folder:
        compile(folder)
        check_code(checks, folder)
        check_arithmetic(checks, folder)
        check_prologues(checks, folder)
        check_every_clock(checks, folder)
        check_moves(checks, folder)
        found = programs(checks, folder)
        check_programs(checks, folder, found)
        check_deadlines(checks, folder, found)
        check_users(checks, folder)
        check_failures(checks, folder)
        check_costs(checks, folder)
        left = subprocess.run(["pgrep", "-f", str(folder)], capture_output=True, text=True).stdout
        checks.that(not left, "no process is left", left)
    checks.end()


main()
