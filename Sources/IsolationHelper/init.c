// Process 1 of the PID namespace. When it ends, for whatever reason, the kernel kills every process of the namespace
// (pid_namespaces(7)), also those that have a session of their own. A parent-death signal alone would reach only the
// command itself, and a subreaper ends without killing its children.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void report_failure(struct isolation *isolation, const char *step) {
  char number[16];
  snprintf(number, sizeof number, "%d", isolation->error);
  const char *fields[] = {"failed", step, isolation->call, number, strerror(isolation->error),
                          advice(isolation, step), NULL};
  send_packet(isolation->control, fields, NULL, 0);
}

void print_step(const char *step, struct isolation *isolation, const char *missing) {
  if (missing) {
    printf("%s: not tried, because it needs: %s\n", step, missing);
  } else if (isolation) {
    printf("%s: failed: %s: %s; %s\n", step, isolation->call, strerror(isolation->error), advice(isolation, step));
  } else {
    printf("%s: ok\n", step);
  }
  fflush(stdout);
}

// Ends with the supervisor: prctl(2), PR_SET_PDEATHSIG. It is a process with one thread, so the signal does not come
// early, when a thread that created this process ends.
static void follow_supervisor(struct isolation *isolation) {
  // Without a PID namespace, this process has to end the command first, so it watches the other end instead.
  if (isolation->request.is_supervised && isolation->control >= 0) return adopt_orphans();
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // It may have ended before the call. poll(2): then the other end is closed (POLLHUP).
  struct pollfd socket_ = {.fd = isolation->news};
  if (poll(&socket_, 1, 0) > 0) _exit(STATUS_UNAVAILABLE);
}

// Exits. All other processes of the command have ended then.
static void finish(struct isolation *isolation, int status) __attribute__((noreturn));
static void finish(struct isolation *isolation, int status) {
  if (isolation->request.is_supervised) end_descendants();
  leave(isolation->control, status);
}

void probe_init(struct isolation *isolation) {
  const struct step *steps = isolation->steps;
  follow_supervisor(isolation);
  bool worked[32] = {true, true};
  bool all = true;
  for (size_t each = 0; each < isolation->step_count; each++) {
    size_t needed = 0;
    while (steps[each].needs && strcmp(steps[needed].name, steps[each].needs)) needed++;
    bool possible = !steps[each].needs || worked[needed];
    worked[each] = possible && (!steps[each].run || steps[each].run(isolation));
    print_step(steps[each].name, worked[each] ? NULL : isolation, possible ? NULL : steps[each].needs);
    // The network can be isolated without the others.
    all = all && (worked[each] || steps[each].purpose != FOR_ISOLATION);
  }
  end_trial(isolation);
  _exit(all ? 0 : 1);
}

// Reports a failed step without which the command still can run, as the caller has allowed.
static void report_unavailable(struct isolation *isolation, const char *what, const char *step) {
  char number[16];
  snprintf(number, sizeof number, "%d", isolation->error);
  const char *fields[] = {what, "unavailable", step, isolation->call, number, strerror(isolation->error),
                          advice(isolation, step), NULL};
  send_packet(isolation->control, fields, NULL, 0);
}

static bool is_wanted(const struct isolation *isolation, const struct step *step) {
  const struct request *request = &isolation->request;
  return step->purpose == FOR_ISOLATION || request->random || (step->purpose == FOR_SUPERVISION && request->clock);
}

static void set_up(struct isolation *isolation) {
  const struct step *steps = isolation->steps;
  for (size_t each = 0; each < isolation->step_count; each++) {
    const struct request *request = &isolation->request;
    bool is_for_random = steps[each].purpose == FOR_RANDOM;
    if (!is_wanted(isolation, &steps[each]) || !steps[each].run || steps[each].run(isolation)) continue;
    if (steps[each].purpose == FOR_ISOLATION || request->random == REQUIRED
      || (!is_for_random && request->clock == REQUIRED)) {
      report_failure(isolation, steps[each].name);
      finish(isolation, STATUS_UNAVAILABLE);
    }
    if (request->random) report_unavailable(isolation, "random", steps[each].name);
    if (request->clock && !is_for_random) report_unavailable(isolation, "clock", steps[each].name);
    if (give_up_supervision(isolation, is_for_random)) continue;
    report_failure(isolation, steps[each].name);
    finish(isolation, STATUS_UNAVAILABLE);
  }
  bool is_supervised = isolation->request.is_supervised;
  // If no step has needed it any more.
  if (is_supervised) end_trial(isolation);
  const char *fields[] = {"ready", NULL};
  const int descriptors[] = {isolation->listener, isolation->dns4, is_supervised ? isolation->table : isolation->dns6};
  if (!send_packet(isolation->control, fields, descriptors, 3)) _exit(STATUS_UNAVAILABLE);
  for (size_t each = 0; each < sizeof descriptors / sizeof *descriptors; each++) close(descriptors[each]);
  if (is_supervised) return;
  // From here on, only Diorama keeps network W.
  const int ours[] = {isolation->network_w, isolation->network_a, isolation->route_w, isolation->route_a};
  for (size_t each = 0; each < sizeof ours / sizeof *ours; each++) close(ours[each]);
}

static void inform(struct isolation *isolation, int news) {
  char byte = (char)news;
  if (write(isolation->news, &byte, 1) != 1) finish(isolation, STATUS_UNAVAILABLE);
}

// Replaces this process by a program, which is looked up in PATH as execvp(3) does it, but for scripts without an
// interpreter, which are refused. Returns if that fails.
static void execute_program(char **arguments) {
  const char *name = arguments[0], *folders = getenv("PATH");
  if (strchr(name, '/')) {
    execve(name, arguments, environ);
    return;
  }
  bool is_denied = false;
  for (const char *folder = folders ? folders : "/bin:/usr/bin"; folder; folder = strchr(folder, ':')) {
    if (*folder == ':') folder++;
    char path[4096];
    int length = (int)strcspn(folder, ":");
    int size = snprintf(path, sizeof path, "%.*s%s%s", length, folder, length ? "/" : "", name);
    if (size >= (int)sizeof path) continue;
    execve(path, arguments, environ);
    if (errno == EACCES) is_denied = true;
    else if (errno != ENOENT && errno != ENOTDIR) return;
  }
  errno = is_denied ? EACCES : ENOENT;
}

// Runs in the process of the command. If it returns, errno was sent.
static void execute(struct isolation *isolation, int status) {
  // Without a PID namespace: if this program's supervisor is killed.
  if (isolation->request.is_supervised) prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  fix_addresses(isolation);
  sigprocmask(SIG_SETMASK, isolation->mask, NULL);
  execute_program(isolation->request.arguments.items);
  int error = errno;
  send(status, &error, sizeof error, MSG_NOSIGNAL);
}

// Starts the command. Never returns if it cannot be started.
static pid_t start_command(struct isolation *isolation) {
  struct request *request = &isolation->request;
  char *empty[] = {NULL}, *name = request->arguments.items[0];
  if (request->folder && chdir(request->folder)) {
    failed(isolation, errno, "chdir %s", request->folder);
    report_failure(isolation, "working directory");
    leave(isolation->control, STATUS_NOT_EXECUTABLE);
  }
  // The supervisor hands over the terminal. Otherwise, a key typed at the command's first prompt could send a signal to
  // our caller.
  char answer;
  inform(isolation, COMMAND_STARTING);
  if (read(isolation->news, &answer, 1) != 1) _exit(STATUS_UNAVAILABLE);
  int status, error = add_variables(isolation) ? 0 : ENOMEM;
  environ = request->variables.count ? request->variables.items : empty;
  pid_t pid = error ? 0 : fork_supervised(isolation, &status, execute);
  if (pid < 0) {
    report_failure(isolation, isolation->supervisor ? "seccomp notification" : "command");
    leave(isolation->control, STATUS_UNAVAILABLE);
  }
  // The socket is closed when the program is executed.
  if (pid > 0) {
    while (recv(status, &error, sizeof error, MSG_WAITALL) < 0 && errno == EINTR) {}
    close(status);
  }
  if (!error) {
    inform(isolation, COMMAND_STARTED);
    return pid;
  }
  failed(isolation, error, "execve %s", name);
  report_failure(isolation, "command");
  leave(isolation->control, error == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE);
}

// Reaps children. Ends this process, and with it the namespace, when the command has ended.
static void reap(struct isolation *isolation, pid_t command) {
  int status;
  pid_t pid;
  while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
    if (pid != command) continue;
    if (WIFSTOPPED(status)) {
      // The supervisor stops, too, so that its caller notices.
      inform(isolation, WSTOPSIG(status));
      continue;
    }
    char number[16];
    snprintf(number, sizeof number, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    const char *fields[] = {WIFEXITED(status) ? "exited" : "signaled", number, NULL};
    send_packet(isolation->control, fields, NULL, 0);
    // The status as shells show it.
    finish(isolation, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
}

// Sends a new socket of network A.
static void send_socket(struct isolation *isolation, const char *kind) {
  int type = !strncmp(kind, "udp", 3) ? SOCK_DGRAM : SOCK_STREAM;
  int made = socket(strchr(kind, '6') ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
  if (made < 0) {
    failed(isolation, errno, "socket(%s)", kind);
    report_failure(isolation, "socket");
    return;
  }
  const char *fields[] = {"socket", NULL};
  send_packet(isolation->control, fields, &made, 1);
  close(made);
}

void run_init(struct isolation *isolation, const sigset_t *mask) {
  // A process group of its own, which the command inherits: a signal that our caller sends to its group reaches the
  // supervisor, which forwards it to this one, so the command gets it once. Process 1 itself ignores it.
  setpgid(0, 0);
  follow_supervisor(isolation);
  set_up(isolation);

  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) {
    failed(isolation, errno, "signalfd");
    report_failure(isolation, "command");
    leave(isolation->control, STATUS_UNAVAILABLE);
  }
  pid_t command = 0;
  isolation->mask = mask;
  while (true) {
    struct pollfd sources[] = {{.fd = isolation->control, .events = POLLIN},
                               {.fd = signals, .events = POLLIN},
                               {.fd = isolation->notifications, .events = POLLIN},
                               {.fd = isolation->devices, .events = POLLOUT},
                               {.fd = isolation->news}};
    if (poll(sources, sizeof sources / sizeof *sources, -1) < 0) continue;
    if (sources[2].revents & POLLIN) {
      answer_notification(isolation);
    } else if (sources[2].revents) {
      // seccomp_unotify(2): no process is left under the filter.
      close(isolation->notifications);
      isolation->notifications = -1;
    }
    if (sources[3].revents) fill_devices(isolation);
    // The supervisor has ended.
    if (sources[4].revents) finish(isolation, STATUS_UNAVAILABLE);
    if (sources[1].revents) {
      struct signalfd_siginfo info;
      while (read(signals, &info, sizeof info) > 0) {}
      reap(isolation, command);
    }
    if (!sources[0].revents) continue;
    switch (read_packet(isolation->control, command ? RUNNING : BEFORE_START, &isolation->request)) {
      case START: command = start_command(isolation); break;
      case SOCKET: send_socket(isolation, isolation->request.socket_kind); break;
      case INVALID: finish(isolation, STATUS_BAD_REQUEST);
      // Diorama has ended.
      case CLOSED: finish(isolation, STATUS_UNAVAILABLE);
      default: break;
    }
  }
}
#endif
