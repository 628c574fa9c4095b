#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include <errno.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/random.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "ClockSupervision.h"
#include "filter.h"
#include "network.h"
#include "randomness.h"
#include "vdso.h"

#define SECOND INT64_C(1000000000)
#define TRACING "run it as the user of diorama, and allow tracing (Yama's ptrace_scope)"

// How a program gets the clock, without ptrace(2), which debuggers inside need for themselves:
//
//  1. At its start it makes a call that the filter reports, and we write our code over its vDSO.
//  2. When that code is first called, it asks for the page's descriptor, maps the page, and gives us the address, which we
//     write beside the code. Many programs never read the clock, and start faster without this step.
//
// Where we cannot write the address, the code maps the page for each read. Where it cannot map the page, it makes a system call
// for each read, which we answer.

// The last processes that were reported, so that each is reported once.
struct reports {
  pid_t pids[64];
  size_t count;
};

struct diorama_clock_supervisor {
  // Read-only, so that no program can make its mapping writable.
  int page;
  const struct diorama_clock_page *clock;
  diorama_clock_report report;
  void *context;
  struct vdso vdso;
  bool has_seed;
  struct randomness randomness;
  // Null if the network is not supervised.
  struct network *network;
  struct reports clock_reports, network_reports;
};

struct diorama_clock_supervisor *diorama_clock_supervisor_create(
  int page, diorama_clock_report report, void *context, char *error) {
  struct diorama_clock_supervisor *supervisor = calloc(1, sizeof *supervisor);
  if (!supervisor) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot supervise the clock: out of memory; free memory");
    return NULL;
  }
  supervisor->page = -1;
  supervisor->report = report;
  supervisor->context = context;
  if (page < 0) return supervisor;
  if (!vdso_prepare(&supervisor->vdso, error)) goto failed;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", page);
  supervisor->page = open(path, O_RDONLY | O_CLOEXEC);
  void *mapped = supervisor->page < 0
    ? MAP_FAILED : mmap(NULL, sizeof *supervisor->clock, PROT_READ, MAP_SHARED, supervisor->page, 0);
  if (mapped == MAP_FAILED) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot map the page of the clock: %s: %s; %s",
      supervisor->page < 0 ? path : "mmap", strerror(errno),
      supervisor->page < 0 ? "mount /proc, and pass the descriptor of a page" : "pass the descriptor of a page");
    goto failed;
  }
  supervisor->clock = mapped;
  if (supervisor->clock->signature != DIORAMA_CLOCK_SIGNATURE) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "descriptor %d is not the page of a clock; pass the descriptor of one", page);
    goto failed;
  }
  return supervisor;
failed:
  diorama_clock_supervisor_free(supervisor);
  return NULL;
}

int diorama_clock_supervisor_seed(
  struct diorama_clock_supervisor *supervisor, const void *seed, size_t length, char *error) {
  if (!vdso_prepare_random(&supervisor->vdso, error)) return -1;
  if (!randomness_create(&supervisor->randomness, seed, length)) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot keep the seed: out of memory; free memory");
    return -1;
  }
  supervisor->has_seed = true;
  return 0;
}

int diorama_clock_supervisor_network(
  struct diorama_clock_supervisor *supervisor, const struct diorama_network *network, char *error) {
  supervisor->network = network_create(network, error);
  return supervisor->network ? 0 : -1;
}

void diorama_random_fill(
  const struct diorama_clock_supervisor *supervisor, enum diorama_random_purpose purpose, uint64_t offset, void *bytes,
  size_t length) {
  random_stream(supervisor->randomness.processes[0].key, (int)purpose, 0, offset, bytes, length);
}

void diorama_clock_supervisor_free(struct diorama_clock_supervisor *supervisor) {
  if (!supervisor) return;
  if (supervisor->clock) munmap((void *)supervisor->clock, sizeof *supervisor->clock);
  if (supervisor->page >= 0) close(supervisor->page);
  randomness_free(&supervisor->randomness);
  network_free(supervisor->network);
  free(supervisor);
}

// The name of a program.
struct name {
  char text[32];
};

static struct name name_of(pid_t pid) {
  char path[64];
  struct name name = {"a program"};
  snprintf(path, sizeof path, "/proc/%d/comm", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    ssize_t length = read(file, name.text, sizeof name.text - 1);
    if (length > 0) name.text[length - (name.text[length - 1] == '\n')] = 0;
    close(file);
  }
  return name;
}

enum { REPORTS = sizeof((struct reports *)0)->pids / sizeof(pid_t) };

static bool is_reported(const struct reports *reports, pid_t thread) {
  pid_t pid = randomness_process(thread);
  for (size_t i = 0; i < REPORTS; i++)
    if (reports->pids[i] == pid) return true;
  return false;
}

static void remember_report(struct reports *reports, pid_t pid) { reports->pids[reports->count++ % REPORTS] = pid; }

// For a new program with the same process ID.
static void forget_report(struct reports *reports, pid_t pid) {
  for (size_t i = 0; i < REPORTS; i++)
    if (reports->pids[i] == pid) reports->pids[i] = 0;
}

// Reports a program that cannot use the network, and why.
static void report_network(struct diorama_clock_supervisor *supervisor, pid_t thread, const char *problem) {
  char line[DIORAMA_CLOCK_ERROR];
  if (is_reported(&supervisor->network_reports, thread)) return;
  pid_t pid = randomness_process(thread);
  snprintf(line, sizeof line, "%s (process %d) has no network: %s", name_of(pid).text, pid, problem);
  remember_report(&supervisor->network_reports, pid);
  supervisor->report(supervisor->context, line);
}

// Reports a program whose clock is not set up as intended: its state, what failed, the error if there is one, and what to do.
static void report_clock(
  struct diorama_clock_supervisor *supervisor, pid_t thread, const char *state, const char *call, int code,
  const char *advice) {
  pid_t pid = randomness_process(thread);
  char line[DIORAMA_CLOCK_ERROR];
  snprintf(line, sizeof line, "the clock of %s (process %d) %s: %s%s%s; %s", name_of(pid).text, pid, state, call,
    code ? ": " : "", code ? strerror(code) : "", advice);
  remember_report(&supervisor->clock_reports, pid);
  supervisor->report(supervisor->context, line);
}

// Reports a program that keeps the real clock.
static void report(struct diorama_clock_supervisor *supervisor, pid_t pid, const char *call, int code, const char *advice) {
  const char *state = supervisor->has_seed ? "stays real, and its random values may be" : "stays real";
  report_clock(supervisor, pid, state, call, code, advice);
}

// ioctl(2) on the listener, repeated if a signal interrupts it.
static int repeat(int listener, unsigned long request, void *argument) {
  int result;
  do result = ioctl(listener, request, argument); while (result < 0 && errno == EINTR);
  return result;
}

static bool is_waiting(int listener, const struct seccomp_notif *call) {
  uint64_t id = call->id;
  return repeat(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

// As `report`, but not if the program was killed in the meantime.
static void report_unless_killed(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call, const char *failed, int code,
  const char *advice) {
  if (is_waiting(listener, call)) report(supervisor, (pid_t)call->pid, failed, code, advice);
}

static int open_memory(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  return open(path, O_RDWR | O_CLOEXEC);
}

// Where the kernel has placed the vDSO of a program, and 16 random bytes (getauxval(3)). 0 if that is unknown.
struct places {
  uint64_t vdso, random;
};

// proc_pid_auxv(5).
static struct places find_places(pid_t pid) {
  char path[64];
  Elf64_auxv_t entries[64];
  struct places places = {0, 0};
  snprintf(path, sizeof path, "/proc/%d/auxv", pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return places;
  ssize_t length = read(file, entries, sizeof entries);
  int code = length < 0 ? errno : 0;
  close(file);
  errno = code;
  for (ssize_t i = 0; i < length / (ssize_t)sizeof *entries; i++) {
    if (entries[i].a_type == AT_SYSINFO_EHDR) places.vdso = entries[i].a_un.a_val;
    if (entries[i].a_type == AT_RANDOM) places.random = entries[i].a_un.a_val;
  }
  return places;
}

// Replaces the random bytes that the kernel places on the stack of a new program. C libraries and Go read them after the call
// that reports the program.
static void replace_initial_bytes(struct diorama_clock_supervisor *supervisor, pid_t pid, int memory, uint64_t place) {
  unsigned char bytes[16];
  struct process *process = randomness_find(&supervisor->randomness, pid);
  errno = 0;
  if (process && place) {
    random_stream(process->key, OF_CALL, process->calls++, 0, bytes, sizeof bytes);
    if (pwrite(memory, bytes, sizeof bytes, (off_t)place) == sizeof bytes) return;
  }
  report(supervisor, pid, "write of its random bytes (AT_RANDOM)", errno, "free memory");
}

// A new program, or one that sets a thread pointer again, whose vDSO was patched before.
static void patch(struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call) {
  pid_t pid = (pid_t)call->pid;
  const char *failed = "open of /proc/PID/mem", *advice = TRACING;
  int memory = open_memory(pid), code = errno;
  if (memory >= 0) {
    struct places places = find_places(pid);
    code = errno;
    enum vdso_state state = places.vdso ? vdso_state(&supervisor->vdso, memory, places.vdso) : VDSO_UNKNOWN;
    failed = places.vdso ? "check of its vDSO, which differs from ours" : "search of the vDSO in /proc/PID/auxv";
    advice = "run it with a vDSO, or use --shift-dates";
    // The process that called is still there, so what was opened belongs to it.
    bool is_done = !is_waiting(listener, call) || state == VDSO_PATCHED;
    if (!is_done && state == VDSO_ORIGINAL) {
      forget_report(&supervisor->clock_reports, pid);
      forget_report(&supervisor->network_reports, pid);
      if (supervisor->has_seed) replace_initial_bytes(supervisor, pid, memory, places.random);
      failed = "write of its vDSO to /proc/PID/mem";
      advice = "boot with proc_mem.force_override=always, or use --shift-dates";
      is_done = vdso_patch(&supervisor->vdso, memory, places.vdso);
      code = errno;
    }
    close(memory);
    if (is_done) return;
  }
  report_unless_killed(supervisor, listener, call, failed, code, advice);
}

// Answers our code when it asks for the page, or gives its address. EEXIST: it is the page, and is used for this read only.
static void give_page(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call, enum vdso_call what,
  uint64_t vdso, struct seccomp_notif_resp *answer) {
  const char *failed = NULL, *advice = "free memory";
  int64_t page = (int64_t)call->data.args[1];
  int memory = open_memory((pid_t)call->pid), code = errno;
  bool is_patched = memory < 0 || vdso_state(&supervisor->vdso, memory, vdso) == VDSO_PATCHED;
  if (!is_patched || !is_waiting(listener, call)) {
    if (memory >= 0) close(memory);
    return;
  }
  answer->flags = 0;
  answer->error = -EAGAIN;
  if (what == VDSO_ASKS) {
    struct seccomp_notif_addfd addition = {
      .id = call->id, .srcfd = (uint32_t)supervisor->page, .newfd_flags = O_CLOEXEC,
    };
    // Not SECCOMP_ADDFD_FLAG_SEND: if a signal interrupts us then, the program gets 0, the descriptor of its input. Before
    // Linux 5.19, a signal in the program may leave a descriptor there, which is closed on exec.
    int descriptor = repeat(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
    if (descriptor >= 0) {
      answer->error = 0;
      answer->val = descriptor;
    } else {
      code = errno;
      failed = "addition of a descriptor (SECCOMP_IOCTL_NOTIF_ADDFD)";
      advice = code == EMFILE ? "raise `ulimit -n`" : "use Linux 5.9 or later";
    }
  } else if (page < 0) {
    code = (int)-page;
    failed = "mmap of the clock's page";
    advice = "free memory, and raise `ulimit -v`";
  } else if (memory < 0) {
    // It could be opened when the program started.
    answer->error = -EEXIST;
    failed = "it became undumpable (PR_SET_DUMPABLE) before it read the clock";
    advice = "let it read the clock earlier";
  } else {
    struct diorama_clock_page content;
    // Another thread may have closed the descriptor, as one that closes all descriptors does.
    if (pread(memory, &content, sizeof content, page) == sizeof content && content.signature == DIORAMA_CLOCK_SIGNATURE) {
      enum vdso_page taken = vdso_take_page(&supervisor->vdso, memory, vdso, (uint64_t)page);
      code = errno;
      answer->error = taken == VDSO_TAKEN ? 0 : -EEXIST;
      if (taken == VDSO_NOT_WRITTEN) failed = "write of the page's address to /proc/PID/mem";
    }
  }
  if (memory >= 0) close(memory);
  if (failed && !is_reported(&supervisor->clock_reports, (pid_t)call->pid) && is_waiting(listener, call)) {
    report_clock(
      supervisor, (pid_t)call->pid, "is read through slow system calls, and its deadlines stay real", failed, code, advice);
  }
}

// What a raw system call stores.
struct result {
  uint64_t place;
  const void *content;
  size_t length;
};

// Opens the memory of a program that makes a raw call, if its vDSO is patched: all its clocks are moved, or none. -1 if the
// call is to happen as usual.
static int open_patched(struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call) {
  pid_t pid = (pid_t)call->pid;
  const char *failed = "open of /proc/PID/mem", *advice = TRACING;
  int memory = open_memory(pid), code = errno;
  if (memory >= 0) {
    failed = "a raw call of a clock, before the start of a C library";
    advice = "link it with one, or use --shift-dates";
    uint64_t vdso = find_places(pid).vdso, address = call->data.instruction_pointer, base;
    code = errno;
    bool is_patched = vdso && vdso_state(&supervisor->vdso, memory, vdso) == VDSO_PATCHED;
    // Where the real clock is no counter that programs can read, the vDSO calls the kernel: our code needs its real time.
    bool is_read = vdso_call(&supervisor->vdso, address, &base) == VDSO_READS && base == vdso;
    bool is_ours = address - vdso < supervisor->vdso.size && !is_read;
    if (is_patched && !is_ours && is_waiting(listener, call)) return memory;
    close(memory);
    if (is_patched) return -1;
  }
  if (!is_reported(&supervisor->clock_reports, pid)) report_unless_killed(supervisor, listener, call, failed, code, advice);
  return -1;
}

// A raw system call that reads a realtime clock.
static void tell_time(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call,
  struct seccomp_notif_resp *answer) {
  struct diorama_clock_record record = diorama_clock_read(supervisor->clock);
  if (record.mode == DIORAMA_CLOCK_REAL) return;
  int memory = open_patched(supervisor, listener, call);
  if (memory < 0) return;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t shown = diorama_clock_shown(&record, now.tv_sec * SECOND + now.tv_nsec), rest = shown % SECOND;
  if (rest < 0) rest += SECOND;
  struct timespec time = {(shown - rest) / SECOND, rest};
  struct timeval old_time = {time.tv_sec, rest / 1000};
  struct timezone zone = {0, 0};
  struct result results[2] = {{call->data.args[0], NULL, 0}, {0, NULL, 0}};
  bool is_required = false;
  if (call->data.nr == __NR_clock_gettime) {
    results[0] = (struct result){call->data.args[1], &time, sizeof time};
    is_required = true;
  } else if (call->data.nr == __NR_gettimeofday) {
    results[0] = (struct result){call->data.args[0], &old_time, sizeof old_time};
    results[1] = (struct result){call->data.args[1], &zone, sizeof zone};
  } else {
    results[0] = (struct result){call->data.args[0], &time.tv_sec, sizeof time.tv_sec};
    answer->val = time.tv_sec;
  }
  answer->flags = 0;
  for (int i = 0; i < 2; i++) {
    if (!results[i].place && !(i == 0 && is_required)) continue;
    ssize_t length = (ssize_t)results[i].length;
    if (pwrite(memory, results[i].content, (size_t)length, (off_t)results[i].place) == length) continue;
    answer->val = 0;
    answer->error = -EFAULT;
  }
  close(memory);
}

// Answers getrandom(2). Returns the process, whose count of values the caller increments when the answer was received; NULL
// if the call is to happen as usual.
static struct process *give_random(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call,
  struct seccomp_notif_resp *answer) {
  pid_t pid = (pid_t)call->pid;
  uint64_t place = call->data.args[0], flags = call->data.args[2], done = 0;
  size_t length = call->data.args[1] < INT32_MAX ? call->data.args[1] : INT32_MAX;
  // The kernel refuses flags that do not exist.
  if (flags & ~(uint64_t)(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)) return NULL;
  if ((flags & GRND_RANDOM) && (flags & GRND_INSECURE)) return NULL;
  int memory = open_memory(pid), code = errno;
  struct process *process = randomness_find(&supervisor->randomness, pid);
  if (memory < 0 || !process || !is_waiting(listener, call)) {
    if (memory >= 0) close(memory);
    if (memory < 0 && !is_reported(&supervisor->clock_reports, pid))
      report_unless_killed(supervisor, listener, call, "open of /proc/PID/mem", code, TRACING);
    return NULL;
  }
  while (done < length) {
    unsigned char bytes[4096];
    size_t part = length - done < sizeof bytes ? length - done : sizeof bytes;
    random_stream(process->key, OF_CALL, process->calls, done, bytes, part);
    ssize_t written = pwrite(memory, bytes, part, (off_t)(place + done));
    if (written > 0) done += (uint64_t)written;
    if (written != (ssize_t)part) break;
  }
  close(memory);
  answer->flags = 0;
  answer->val = (int64_t)done;
  if (done == 0 && length > 0) answer->error = -EFAULT;
  return process;
}

void diorama_clock_answer(struct diorama_clock_supervisor *supervisor, int listener) {
  // A later kernel may write more than we know of.
  union {
    struct seccomp_notif call;
    char room[1024];
  } received;
  memset(&received, 0, sizeof received);
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received.call) != 0) return;
  const struct seccomp_notif *call = &received.call;
  struct seccomp_notif_resp answer = {.id = call->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
  struct process *given = NULL;
  const char *problem = NULL;
  enum network_answer network = NETWORK_OTHER;
  if (supervisor->network && call->data.arch == NATIVE_ARCH)
    network = network_answer(supervisor->network, listener, call, &answer, &problem);
  if (problem) report_network(supervisor, (pid_t)call->pid, problem);
  if (network == NETWORK_ANSWER) {
    // The answer is ready.
  } else if (call->data.arch != NATIVE_ARCH) {
    if (supervisor->network) report_network(supervisor, (pid_t)call->pid, "it is a 32-bit program; use its 64-bit version");
    if (supervisor->clock)
      report(supervisor, (pid_t)call->pid, "a 32-bit program", 0, "use its 64-bit version, or --shift-dates");
#if defined(__x86_64__)
  } else if (call->data.nr == __NR_arch_prctl) {
#else
  } else if (call->data.nr == __NR_set_tid_address || call->data.nr == __NR_sched_getaffinity) {
#endif
    patch(supervisor, listener, call);
  } else if (call->data.nr == __NR_getrandom) {
    given = give_random(supervisor, listener, call, &answer);
  } else if (call->data.nr == __NR_set_robust_list) {
    if (randomness_is_process((pid_t)call->pid)) randomness_find(&supervisor->randomness, (pid_t)call->pid);
  } else if (call->data.nr == __NR_clock_gettime && call->data.args[0] == DIORAMA_CLOCK_MAGIC) {
    uint64_t vdso;
    enum vdso_call what = vdso_call(&supervisor->vdso, call->data.instruction_pointer, &vdso);
    if (what == VDSO_READS) {
      // No page yet: another read may get it.
      answer.flags = 0;
      answer.error = -EAGAIN;
    } else if (what != VDSO_OTHER) {
      give_page(supervisor, listener, call, what, vdso, &answer);
    }
  } else {
    tell_time(supervisor, listener, call, &answer);
  }
  bool is_sent = repeat(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
  if (is_sent && given) given->calls++;
}
#endif
