// diorama-isolate runs a command whose network leads to Diorama only, in namespaces or by supervision of its system calls.
// Diorama starts it with a socket; see PROTOCOL.md. This process is the supervisor: it forwards signals to the command, and ends as the command does.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Ends this program because of a system call that does not fail in practice.
static void end(const char *call) {
  fprintf(stderr, "diorama-isolate: %s: %s\n", call, strerror(errno));
  exit(STATUS_UNAVAILABLE);
}

// Hands the terminal, if it belongs to one process group, to another. tcsetpgrp(3): a background process needs to block
// SIGTTOU, which this process does.
static void hand_terminal(pid_t from, pid_t to) {
  int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return;
  if (tcgetpgrp(terminal) == from) tcsetpgrp(terminal, to);
  close(terminal);
}

// Continues the command. It gets the terminal if our process group has it.
static void resume(pid_t init) {
  hand_terminal(getpgrp(), init);
  kill(-init, SIGCONT);
}

// Stops this process by the signal that stopped the command, so that our caller sees the same.
static void stop(pid_t init, int signal_) {
  hand_terminal(init, getpgrp());
  sigset_t one, continuing;
  sigemptyset(&one);
  sigaddset(&one, signal_);
  signal(signal_, SIG_DFL);
  kill(getpid(), signal_);
  sigprocmask(SIG_UNBLOCK, &one, NULL);
  sigprocmask(SIG_BLOCK, &one, NULL);
  // signal(7): a new stop signal discards a pending SIGCONT. So the command is continued here, and SIGCONT is removed.
  sigemptyset(&continuing);
  sigaddset(&continuing, SIGCONT);
  sigtimedwait(&continuing, NULL, &(struct timespec){0});
  resume(init);
}

// Forwards signals until process 1 of the namespace has ended. The result is its status, as shells show it.
static int supervise(pid_t init, int news) {
  setpgid(init, init);
  sigset_t all;
  sigfillset(&all);
  int signals = signalfd(-1, &all, SFD_CLOEXEC);
  if (signals < 0) end("signalfd");
  // Process 1 ignores signals, so they wait here until the command has started.
  bool has_started = false;
  while (true) {
    struct pollfd sources[] = {{.fd = has_started ? signals : -1, .events = POLLIN}, {.fd = news, .events = POLLIN}};
    if (poll(sources, 2, -1) < 0) continue;
    char cause;
    if (sources[1].revents & POLLIN && read(news, &cause, 1) == 1) {
      if (cause == COMMAND_STARTING) {
        hand_terminal(getpgrp(), init);
        if (write(news, &cause, 1) != 1) end("write");
      } else if (cause == COMMAND_STARTED) {
        has_started = true;
      } else {
        stop(init, cause);
      }
      continue;
    }
    if (sources[1].revents & POLLHUP) {
      // Process 1 is ending: waitpid(2) waits until the kernel has ended its namespace.
      int status;
      while (waitpid(init, &status, 0) < 0 && errno == EINTR) {}
      // Without a namespace, in case that it was killed.
      end_descendants();
      hand_terminal(init, getpgrp());
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    struct signalfd_siginfo info;
    if (!sources[0].revents || read(signals, &info, sizeof info) != sizeof info) continue;
    if (info.ssi_signo == SIGCHLD) continue;
    if (info.ssi_signo == SIGCONT) {
      resume(init);
    } else {
      kill(-init, (int)info.ssi_signo);
    }
  }
}

// Creates process 1 and supervises it. Without a control socket, it tries the steps. The result is for _exit(2):
// packets are kept to the end, where exit(3) would let a leak checker report them.
static int run(struct isolation *isolation, const sigset_t *mask) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) end("socketpair");
  const char *step = NULL;
  choose_steps(isolation);
  if (isolation->request.is_supervised) adopt_orphans();
  pid_t pid = enter_namespaces(isolation, &step);
  if (pid == 0) {
    close(ends[0]);
    isolation->news = ends[1];
    if (isolation->control < 0) probe_init(isolation);
    run_init(isolation, mask);
  }
  close(ends[1]);
  if (pid > 0) {
    // Process 1 alone has the socket now, so Diorama notices its end.
    if (isolation->control >= 0) close(isolation->control);
    return supervise(pid, ends[0]);
  }
  if (isolation->control >= 0) {
    report_failure(isolation, step);
    leave(isolation->control, STATUS_UNAVAILABLE);
  }
  bool is_before = true;
  for (size_t each = 0; each < isolation->step_count; each++) {
    bool is_failed = !strcmp(isolation->steps[each].name, step);
    is_before = is_before && !is_failed;
    print_step(isolation->steps[each].name, is_failed ? isolation : NULL, is_before || is_failed ? NULL : step);
  }
  return 1;
}

int main(int count, char **arguments) {
  bool is_supervised = count == 3 && !strcmp(arguments[2], "seccomp");
  bool is_probe = (count == 2 || is_supervised) && !strcmp(arguments[1], "--probe");
  char *rest = "";
  long number = count == 3 && !strcmp(arguments[1], "--socket") ? strtol(arguments[2], &rest, 10) : -1;
  if (!is_probe && (number < 0 || number > 1 << 20 || *rest || rest == arguments[2])) {
    fputs(
        "usage: diorama-isolate --socket DESCRIPTOR   runs the command that the socket asks for (PROTOCOL.md)\n"
        "       diorama-isolate --probe [seccomp]     tries each step of the isolation\n",
        stderr);
    return STATUS_BAD_REQUEST;
  }
  struct isolation isolation = {.control = (int)number, .request.page = -1, .devices = -1, .notifications = -1};
  sigset_t all, mask;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &mask);
  // waitpid(2): if the caller ignores SIGCHLD, this program inherits that, and children leave no status.
  signal(SIGCHLD, SIG_DFL);
  if (is_probe) {
    // A file over itself, to try that step, too.
    char *file[] = {"/dev/null"};
    if (!is_supervised) isolation.request.sources = isolation.request.targets = (struct list){file, 1};
    isolation.request.is_supervised = is_supervised;
    _exit(run(&isolation, &mask));
  }

  int type = 0;
  socklen_t size = sizeof type;
  if (getsockopt(isolation.control, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET) {
    fprintf(stderr, "diorama-isolate: descriptor %ld is not a SOCK_SEQPACKET socket; pass one end of a pair\n",
            number);
    return STATUS_BAD_REQUEST;
  }
  fcntl(isolation.control, F_SETFD, FD_CLOEXEC);
  enum keyword keyword;
  while ((keyword = read_packet(isolation.control, BEFORE_SETUP, &isolation.request)) != SETUP)
    if (keyword == CLOSED || keyword == INVALID)
      leave(isolation.control, keyword == CLOSED ? STATUS_UNAVAILABLE : STATUS_BAD_REQUEST);
  _exit(run(&isolation, &mask));
}
#else
#include <stdio.h>

int main(void) {
  fputs("diorama-isolate needs Linux; use `diorama run` with --isolate=proxy\n", stderr);
  return 69;
}
#endif
