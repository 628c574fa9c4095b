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
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "ClockSupervision.h"
#include "filter.h"
#include "network.h"
#include "randomness.h"
#include "vdso.h"
#if defined(__x86_64__)
#include "code_x86_64.h"
#else
#include "code_arm64.h"
#endif

#define SECOND INT64_C(1000000000)
#define TRACING "run it as the user of diorama, and allow tracing (Yama's ptrace_scope)"

// How a program gets the page, without ptrace(2), which debuggers inside need for themselves:
//
//  1. It calls what the filter reports. We add the page's descriptor to it, write the loader over the code that follows the
//     call, and return from the call with a value that leaves every register as it was before.
//  2. The loader maps the page, closes the descriptor, and calls the same again.
//  3. We restore the code, check that the page is there, replace the functions of the vDSO, and let the call happen.
//
// The program has one thread then, and no handlers of signals.

// A program between 1 and 3.
struct loading {
  struct loading *next;
  pid_t pid;
  int memory;
  uint64_t next_instruction, vdso, page;
  unsigned char code[sizeof clock_loader];
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
  struct loading *loadings;
  // Null if the network is not supervised.
  struct network *network;
  // The last process that was reported: its raw calls are no news.
  pid_t reported;
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

// Removes a program from the list.
static void drop(struct loading **link) {
  struct loading *loading = *link;
  *link = loading->next;
  close(loading->memory);
  free(loading);
}

void diorama_clock_supervisor_free(struct diorama_clock_supervisor *supervisor) {
  if (!supervisor) return;
  while (supervisor->loadings) drop(&supervisor->loadings);
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

// Reports a program that cannot use the network, and why.
static void report_network(struct diorama_clock_supervisor *supervisor, pid_t pid, const char *problem) {
  char line[DIORAMA_CLOCK_ERROR];
  if (supervisor->reported == pid) return;
  snprintf(line, sizeof line, "%s (process %d) has no network: %s", name_of(pid).text, pid, problem);
  supervisor->reported = pid;
  supervisor->report(supervisor->context, line);
}

// Reports a program that keeps the real clock: what failed, the error if there is one, and what to do.
static void report(struct diorama_clock_supervisor *supervisor, pid_t pid, const char *call, int code, const char *advice) {
  char line[DIORAMA_CLOCK_ERROR];
  struct name name = name_of(pid);
  snprintf(line, sizeof line, "the clock of %s (process %d) stays real%s: %s%s%s; %s", name.text, pid,
    supervisor->has_seed ? ", and its random values may be" : "", call, code ? ": " : "", code ? strerror(code) : "", advice);
  supervisor->reported = pid;
  supervisor->report(supervisor->context, line);
}

// As `report`, but not if the program was killed in the meantime.
static void report_unless_killed(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call, const char *failed, int code,
  const char *advice) {
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0) report(supervisor, (pid_t)call->pid, failed, code, advice);
}

static int open_memory(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  return open(path, O_RDWR | O_CLOEXEC);
}

// proc_pid_maps(5): finds the vDSO, and a free page right below another mapping, where the kernel would place one, too. Not
// below the stack, which grows down. The loader maps the page only if it is still free.
static bool find_vdso(pid_t pid, uint64_t *vdso, uint64_t *end, uint64_t *free_page) {
  char path[64], line[512], content[4096];
  snprintf(path, sizeof path, "/proc/%d/maps", pid);
  FILE *maps = fopen(path, "re");
  if (!maps) return false;
  // Each read(2) costs as much as some lines.
  setvbuf(maps, content, _IOFBF, sizeof content);
  uint64_t last = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
  *vdso = *end = *free_page = 0;
  while (!*vdso && fgets(line, sizeof line, maps)) {
    char *rest;
    uint64_t start = strtoul(line, &rest, 16), stop = *rest == '-' ? strtoul(rest + 1, NULL, 16) : 0;
    if (!stop) continue;
    if (last && start - last >= 2 * page && !strstr(line, "[stack]")) *free_page = start - page;
    last = stop;
    if (!strstr(line, "[vdso]")) continue;
    *vdso = start;
    *end = stop;
  }
  errno = 0;
  fclose(maps);
  return *vdso && *free_page;
}

// Replaces the 16 random bytes that the kernel places on the stack of a new program (getauxval(3), AT_RANDOM). C libraries
// and Go read them after the call that reports the program.
static void replace_initial_bytes(struct diorama_clock_supervisor *supervisor, const struct loading *loading) {
  char path[64];
  Elf64_auxv_t entries[64];
  snprintf(path, sizeof path, "/proc/%d/auxv", loading->pid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, entries, sizeof entries);
  int code = errno;
  if (file >= 0) close(file);
  struct process *process = randomness_find(&supervisor->randomness, loading->pid);
  for (ssize_t i = 0; process && i < length / (ssize_t)sizeof *entries; i++) {
    unsigned char bytes[16];
    if (entries[i].a_type != AT_RANDOM) continue;
    random_stream(process->key, OF_CALL, process->calls++, 0, bytes, sizeof bytes);
    if (pwrite(loading->memory, bytes, sizeof bytes, (off_t)entries[i].a_un.a_val) == sizeof bytes) return;
    code = errno;
  }
  report(supervisor, loading->pid, "write of its random bytes (AT_RANDOM)", code, "free memory");
}

// A program before its loader. Returns whether the call is answered; if not, it happens as usual.
static bool begin(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call,
  struct seccomp_notif_resp *answer) {
  struct stat tasks;
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", call->pid);
  // The number of links is that of threads, and two. Code that other threads may run is not replaced.
  if (stat(path, &tasks) == 0 && tasks.st_nlink > 3) return false;
  struct loading *loading = calloc(1, sizeof *loading);
  if (!loading) {
    report(supervisor, (pid_t)call->pid, "out of memory", 0, "free memory");
    return false;
  }
  loading->next = supervisor->loadings;
  loading->pid = (pid_t)call->pid;
  loading->next_instruction = call->data.instruction_pointer;
  supervisor->loadings = loading;
  const char *failed = "open of /proc/PID/mem", *advice = TRACING;
  uint64_t end;
  loading->memory = open_memory(loading->pid);
  if (loading->memory < 0) goto failed;
  // The process that called is still there, so what was opened belongs to it.
  if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) != 0) goto dropped;
  failed = "search of the vDSO in /proc/PID/maps";
  advice = "run it with a vDSO, or use --shift-dates";
  if (!find_vdso(loading->pid, &loading->vdso, &end, &loading->page)) goto failed;
  switch (vdso_state(&supervisor->vdso, loading->memory, loading->vdso)) {
    case VDSO_ORIGINAL: break;
    case VDSO_PATCHED: goto dropped;
    case VDSO_UNKNOWN:
      failed = "check of its vDSO, which differs from ours";
      errno = 0;
      goto failed;
  }
  if (supervisor->has_seed) replace_initial_bytes(supervisor, loading);
  // Written as it is, to learn whether it can be written before there is something to undo.
  failed = "write to /proc/PID/mem";
  advice = "boot with proc_mem.force_override=always, or use --shift-dates";
  size_t length = sizeof loading->code;
  off_t place = (off_t)loading->next_instruction;
  if (pread(loading->memory, loading->code, length, place) != (ssize_t)length
    || pwrite(loading->memory, loading->code, length, place) != (ssize_t)length) goto failed;
  struct seccomp_notif_addfd addition = {
    .id = call->id, .srcfd = (uint32_t)supervisor->page, .newfd_flags = O_CLOEXEC,
  };
  int descriptor = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
  failed = "addition of a descriptor (SECCOMP_IOCTL_NOTIF_ADDFD)";
  advice = "use Linux 5.9 or later, and raise `ulimit -n`";
  if (descriptor < 0) goto failed;
  unsigned char loader[sizeof clock_loader];
  uint32_t page_length = (uint32_t)sysconf(_SC_PAGESIZE);
  memcpy(loader, clock_loader, sizeof loader);
  memcpy(loader + loader_address_offset, &loading->page, sizeof loading->page);
  memcpy(loader + loader_length_offset, &page_length, sizeof page_length);
  for (size_t i = 0; i < sizeof loader_descriptor_offsets / sizeof *loader_descriptor_offsets; i++) {
    memcpy(loader + loader_descriptor_offsets[i], &descriptor, sizeof descriptor);
  }
  if (pwrite(loading->memory, loader, length, place) != (ssize_t)length) {
    failed = "write to /proc/PID/mem";
    advice = "free memory";
    pwrite(loading->memory, loading->code, length, place);
    goto failed;
  }
  // The register of the result keeps its value: it holds the number of the call, or on arm64 the first argument.
#if defined(__x86_64__)
  answer->val = call->data.nr;
#else
  answer->val = (int64_t)call->data.args[0];
#endif
  answer->flags = 0;
  return true;
failed:
  report_unless_killed(supervisor, listener, call, failed, errno, advice);
dropped:
  drop(&supervisor->loadings);
  return false;
}

// The code that the loader has replaced is put back.
static bool restore(const struct loading *loading) {
  return pwrite(loading->memory, loading->code, sizeof loading->code, (off_t)loading->next_instruction)
    == (ssize_t)sizeof loading->code;
}

// A program whose loader has run.
static void finish(
  struct diorama_clock_supervisor *supervisor, int listener, const struct seccomp_notif *call,
  const struct loading *loading) {
  struct diorama_clock_page content;
  const char *failed = "write of its code to /proc/PID/mem", *advice = "start it again: it cannot continue";
  errno = 0;
  if (restore(loading)) {
    failed = "mmap of the clock's page in it";
    advice = "raise `ulimit -v`, or use --shift-dates";
    errno = 0;
    if (pread(loading->memory, &content, sizeof content, (off_t)loading->page) == sizeof content
      && content.signature == DIORAMA_CLOCK_SIGNATURE) {
      failed = "write of its vDSO to /proc/PID/mem";
      advice = "free memory";
      if (vdso_patch(&supervisor->vdso, loading->memory, loading->vdso, loading->page)) return;
    }
  }
  report_unless_killed(supervisor, listener, call, failed, errno, advice);
}

// Finds the program that called, if its loader has run. Forgets those that were killed before: the memory of a process that
// has ended reads as empty, and its number may belong to another one now.
static struct loading **find_loading(struct diorama_clock_supervisor *supervisor, const struct seccomp_notif *call) {
  struct loading **found = NULL, **link = &supervisor->loadings;
  while (*link) {
    char byte;
    struct loading *loading = *link;
    if (pread(loading->memory, &byte, 1, (off_t)loading->next_instruction) != 1) {
      drop(link);
      continue;
    }
    if (loading->pid == (pid_t)call->pid && loading->next_instruction == call->data.instruction_pointer) found = link;
    link = &loading->next;
  }
  return found;
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
  uint64_t vdso, end, unused;
  pid_t pid = (pid_t)call->pid;
  const char *failed = "open of /proc/PID/mem", *advice = TRACING;
  int memory = open_memory(pid);
  if (memory >= 0) {
    failed = "a raw call of a clock, before the start of a C library";
    advice = "link it with one, or use --shift-dates";
    errno = 0;
    bool is_patched = find_vdso(pid, &vdso, &end, &unused)
      && vdso_state(&supervisor->vdso, memory, vdso) == VDSO_PATCHED;
    // Where the real clock is no counter that programs can read, the vDSO calls the kernel: our code needs its real time.
    bool is_ours = is_patched && call->data.instruction_pointer >= vdso && call->data.instruction_pointer < end;
    if (is_patched && !is_ours && ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0) return memory;
    close(memory);
    if (is_patched) return -1;
  }
  if (supervisor->reported != pid) report_unless_killed(supervisor, listener, call, failed, errno, advice);
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
  if (memory < 0 || !process || ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) != 0) {
    if (memory >= 0) close(memory);
    if (memory < 0 && supervisor->reported != pid)
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
  bool is_start = false, has_begun = false;
  struct process *given = NULL;
  const char *problem = NULL;
  enum network_answer network = NETWORK_OTHER;
  if (supervisor->network && call->data.arch == NATIVE_ARCH)
    network = network_answer(supervisor->network, listener, call, &answer, &problem);
  if (problem) report_network(supervisor, (pid_t)call->pid, problem);
  if (network == NETWORK_SENT) return;
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
    is_start = true;
  } else if (call->data.nr == __NR_getrandom) {
    given = give_random(supervisor, listener, call, &answer);
  } else if (call->data.nr == __NR_set_robust_list) {
    if (randomness_is_process((pid_t)call->pid)) randomness_find(&supervisor->randomness, (pid_t)call->pid);
  } else {
    tell_time(supervisor, listener, call, &answer);
  }
  if (is_start) {
    struct loading **loading = find_loading(supervisor, call);
    if (loading) {
      finish(supervisor, listener, call, *loading);
      drop(loading);
    } else {
      has_begun = begin(supervisor, listener, call, &answer);
    }
  }
  bool is_sent = ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
  if (is_sent && given) given->calls++;
  if (is_sent || !has_begun) return;
  // A signal has interrupted the call, which will be repeated; or the program was killed.
  restore(supervisor->loadings);
  drop(&supervisor->loadings);
}
#endif
