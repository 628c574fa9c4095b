// The clock and the random values of the command, by ClockSupervision.
//
// /dev/random and /dev/urandom become a FIFO (fifo(7)) that process 1 keeps filled. A regular file would end, and would give
// every program the same bytes. A pseudo-terminal would become the controlling terminal of a daemon that opens it.
// Notifications of openat(2) would make every open slower.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ClockSupervision.h"

static const char *const devices[] = {"/dev/urandom", "/dev/random"};

bool replace_devices(struct isolation *isolation) {
  // /proc exists even where / is read-only. The FIFO stays when the file system is unmounted from there.
  if (mount("none", "/proc", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755"))
    return failed(isolation, errno, "mount a tmpfs");
  bool is_made = !mkfifo("/proc/random", 0600) || failed(isolation, errno, "mkfifo");
  if (is_made) {
    // fifo(7): Linux opens both ends at once.
    isolation->devices = open("/proc/random", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    is_made = isolation->devices >= 0 || failed(isolation, errno, "open a FIFO");
  }
  // A program that writes to a device gets an error. Otherwise it would wait until a program reads.
  if (is_made) is_made = !chmod("/proc/random", 0444) || failed(isolation, errno, "chmod a FIFO");
  for (size_t each = 0; is_made && each < sizeof devices / sizeof *devices; each++)
    if (!mount("/proc/random", devices[each], NULL, MS_BIND, NULL)) isolation->replaced[each] = true;
    // A device that does not exist needs no replacement.
    else if (errno != ENOENT) is_made = failed(isolation, errno, "mount a FIFO over %s", devices[each]);
  umount2("/proc", MNT_DETACH);
  return is_made;
}

void fill_devices(struct isolation *isolation) {
  // Less than a page, so that a short write of root to a device fits into the rest of the last page (pipe(7)), and does not
  // wait until a program reads.
  enum { PART = 3840, PARTS = 32 };
  char bytes[PART];
  // Not until it is full: if a program reads without pause, other programs must not wait for that.
  for (int part = 0; part < PARTS; part++) {
    diorama_random_fill(isolation->supervisor, DIORAMA_RANDOM_DEVICES, isolation->device_offset, bytes, sizeof bytes);
    if (write(isolation->devices, bytes, sizeof bytes) != sizeof bytes) return;
    isolation->device_offset += sizeof bytes;
  }
}

static void report(void *context, const char *line) {
  const struct isolation *isolation = context;
  char packet[DIORAMA_CLOCK_ERROR + 16];
  int length = snprintf(packet, sizeof packet, "report%c%s", 0, line);
  // Programs wait for this process, which must not wait for Diorama.
  send(isolation->control, packet, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool failed_by(struct isolation *isolation, int error, const char *line) {
  const char *rest = strstr(line, "; ");
  failed(isolation, error, "%.*s", rest ? (int)(rest - line) : (int)strlen(line), line);
  snprintf(isolation->advice, sizeof isolation->advice, "%s", rest ? rest + 2 : "");
  return false;
}

bool make_supervisor(struct isolation *isolation, int page, char *error) {
  isolation->supervisor = diorama_clock_supervisor_create(page, report, isolation, error);
  return isolation->supervisor;
}

bool find_vdso(struct isolation *isolation) {
  struct request *request = &isolation->request;
  char error[DIORAMA_CLOCK_ERROR];
  // Random values alone come with the real clock. --probe tries both.
  int page = request->page >= 0 ? request->page : diorama_clock_page_create(error);
  if (page < 0) return failed_by(isolation, errno, error);
  make_supervisor(isolation, page, error);
  close(page);
  request->page = -1;
  const char *seed = isolation->control < 0 ? "" : request->seed;
  isolation->has_clock = isolation->supervisor;
  if (!isolation->supervisor
    || (seed && diorama_clock_supervisor_seed(isolation->supervisor, seed, strlen(seed), error)))
    return failed_by(isolation, ENOTSUP, error);
  return true;
}

pid_t fork_supervised(struct isolation *isolation, int *status, void (*run)(struct isolation *, int)) {
  int ends[2];
  char error[DIORAMA_CLOCK_ERROR];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
    failed(isolation, errno, "socketpair");
    return -1;
  }
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    bool has_seed = isolation->control < 0 || isolation->request.seed;
    unsigned parts = (isolation->has_clock ? DIORAMA_CLOCK | (has_seed ? DIORAMA_RANDOM : 0) : 0)
      | (isolation->request.is_supervised ? DIORAMA_NETWORK : 0);
    // Where it cannot be installed, the filter is only required for the supervision.
    if (diorama_clock_enter(ends[1], parts, error) && isolation->supervisor) _exit(errno);
    run(isolation, ends[1]);
    _exit(0);
  }
  int code = errno;
  close(ends[1]);
  *status = ends[0];
  if (pid < 0) {
    failed(isolation, code, "fork");
  } else if (isolation->supervisor) {
    isolation->notifications = diorama_clock_receive_listener(ends[0], error);
    if (isolation->notifications >= 0) return pid;
    int ended = 0;
    waitpid(pid, &ended, 0);
    failed(isolation, WIFEXITED(ended) ? WEXITSTATUS(ended) : EIO, "seccomp(SECCOMP_FILTER_FLAG_NEW_LISTENER)");
  } else {
    return pid;
  }
  close(ends[0]);
  return -1;
}

static void wait_for_end(struct isolation *isolation, int status) {
  char byte;
  (void)isolation;
  recv(status, &byte, 1, 0);
}

void end_trial(struct isolation *isolation) {
  if (isolation->trial > 0) {
    kill(isolation->trial, SIGKILL);
    waitpid(isolation->trial, NULL, 0);
    close(isolation->trial_status);
    close(isolation->notifications);
    isolation->trial = 0;
    isolation->notifications = -1;
  }
  if (isolation->request.is_supervised) return;
  // The command gets the first process ID, as without a trial: pid_namespaces(7), /proc/sys/kernel/ns_last_pid.
  struct isolation unused;
  write_file(&unused, "/proc/sys/kernel/ns_last_pid", "1");
}

bool try_notification(struct isolation *isolation) {
  bool is_supervised = isolation->request.is_supervised;
  if (is_supervised && !supervise_network(isolation)) return false;
  isolation->trial = fork_supervised(isolation, &isolation->trial_status, is_supervised ? connect_elsewhere : wait_for_end);
  return isolation->trial > 0;
}

bool write_memory(struct isolation *isolation) {
  char path[64], code[16];
  // Where the trial, a fork of this process, has code, which only such a write can change.
  off_t place = (off_t)(uintptr_t)write_memory;
  snprintf(path, sizeof path, "/proc/%d/mem", isolation->trial);
  int memory = open(path, O_RDWR | O_CLOEXEC);
  bool works = memory >= 0 || failed(isolation, errno, "open /proc/PID/mem for writing");
  if (works && (pread(memory, code, sizeof code, place) != sizeof code
      || pwrite(memory, code, sizeof code, place) != sizeof code))
    works = failed(isolation, errno, "write code to /proc/PID/mem");
  if (memory >= 0) close(memory);
  end_trial(isolation);
  return works;
}

bool give_up_supervision(struct isolation *isolation, bool keeps_clock) {
  bool has_network = isolation->trial > 0;
  end_trial(isolation);
  for (size_t each = 0; each < sizeof devices / sizeof *devices; each++)
    if (isolation->replaced[each]) umount2(devices[each], MNT_DETACH);
  if (isolation->devices >= 0) close(isolation->devices);
  isolation->devices = -1;
  isolation->request.random = NOT_WANTED;
  isolation->request.seed = NULL;
  if (keeps_clock) return true;
  isolation->request.clock = NOT_WANTED;
  isolation->has_clock = false;
  diorama_clock_supervisor_free(isolation->supervisor);
  isolation->supervisor = NULL;
  // The step that has given it the network was taken.
  return !isolation->request.is_supervised || !has_network || supervise_network(isolation);
}

static char **find_variable(const struct list *variables, const char *name) {
  size_t length = strlen(name);
  for (size_t each = 0; each < variables->count; each++)
    if (!strncmp(variables->items[each], name, length) && variables->items[each][length] == '=')
      return &variables->items[each];
  return NULL;
}

// Adds a variable, unless it is set.
static bool add_variable(struct list *variables, const char *name, const char *format, unsigned value) {
  char text[64];
  int length = snprintf(text, sizeof text, "%s=", name);
  snprintf(text + length, sizeof text - (size_t)length, format, value);
  if (find_variable(variables, name)) return true;
  char *variable = strdup(text);
  return variable && append_item(variables, variable);
}

bool add_variables(struct isolation *isolation) {
  struct request *request = &isolation->request;
  bool is_added = true;
  if (request->preload && request->clock != NOT_WANTED) {
    char **found = find_variable(&request->variables, "LD_PRELOAD"), *old = found ? strchr(*found, '=') + 1 : "";
    size_t size = sizeof "LD_PRELOAD=:" + strlen(request->preload) + strlen(old);
    char *variable = malloc(size);
    if (!variable) return false;
    snprintf(variable, size, "LD_PRELOAD=%s%s%s", request->preload, *old ? ":" : "", old);
    if (found) *found = variable;
    else is_added = append_item(&request->variables, variable);
  }
  if (request->seed) {
    uint32_t value[2];
    diorama_random_fill(isolation->supervisor, DIORAMA_RANDOM_VARIABLES, 0, value, sizeof value);
    // python(1): at most 4294967295, and 0 for no randomness; perlrun(1).
    is_added = is_added && add_variable(&request->variables, "PYTHONHASHSEED", "%u", value[0])
      && add_variable(&request->variables, "PERL_HASH_SEED", "0x%08x", value[1]);
  }
  return is_added;
}

void fix_addresses(struct isolation *isolation) {
  if (!isolation->request.seed) return;
  // personality(2): 0xffffffff asks for the present one.
  int persona = personality(0xffffffff);
  if (persona >= 0 && personality((unsigned long)persona | ADDR_NO_RANDOMIZE) >= 0) return;
  char line[DIORAMA_CLOCK_ERROR];
  snprintf(line, sizeof line, "addresses stay random: personality(ADDR_NO_RANDOMIZE): %s; in a container, add the option "
    "--security-opt seccomp=unconfined", strerror(errno));
  report(isolation, line);
}

void answer_notification(struct isolation *isolation) {
  diorama_clock_answer(isolation->supervisor, isolation->notifications);
}
#endif
