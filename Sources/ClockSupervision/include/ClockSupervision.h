#pragma once
#if defined(__linux__)
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ClockPage.h"
#include "ConnectionTable.h"

// Gives the programs of an environment its clock, without their knowledge: a seccomp filter reports each new program, and
// the supervisor replaces the functions of its vDSO that tell the time, which map the clock's page when they are first called.
// Realtime clocks follow the page; monotonic and processor clocks, sleeps, timeouts and file times stay real.
//
// With a seed, programs get random values that depend on it: the supervisor answers getrandom(2), and replaces the random
// bytes that the kernel passes to each new program (AT_RANDOM). A value depends on the seed, on the place of its process in
// the process tree, and on how many values the process got before. Values are made by ChaCha20 (RFC 8439).
// IsolationHelper/PROTOCOL.md lists which runtimes follow the seed.
//
// With the settings of a network, the connections of programs lead to the server, whatever their destination is, without
// namespaces. What is sent by UDP to port 53 arrives at a name server; other UDP is refused. The programs' own servers can be
// reached by them at loopback addresses.
//
// In the order of their use:
//
//     server   diorama_clock_page_create, diorama_clock_page_map, diorama_clock_move (as often as it likes)
//     helper   diorama_clock_supervisor_create, diorama_clock_supervisor_seed (if it has a seed),
//              diorama_clock_supervisor_network (without namespaces), fork
//     child    diorama_clock_enter, exec
//     helper   diorama_clock_receive_listener; then diorama_clock_answer, whenever poll(2) reports POLLIN for it; until
//              POLLHUP, when all programs have ended (and, before Linux 6.11, have been waited for)
//
// A function that fails returns -1 (or NULL) and writes one line to `error`, which has DIORAMA_CLOCK_ERROR bytes.
//
// The helper must be an ancestor of the programs (a child subreaper, if they may outlive their parents), since Yama allows
// only ancestors to write into a process. While it runs it must answer; when it ends, its programs must end too: what the
// filter reports fails with ENOSYS then, and no new program starts.

#define DIORAMA_CLOCK_ERROR 256

/// Makes a page with the real clock. Returns its descriptor, a memfd that is closed on exec.
int diorama_clock_page_create(char *error);

/// Maps a page for writing. munmap(2) with sizeof (struct diorama_clock_page) frees it.
struct diorama_clock_page *diorama_clock_page_map(int page, char *error);

/// Sets the clock; programs see it with their next read. One thread at a time may call it for a page.
///
/// At the real instant `real` the clock shows `shown` (both in nanoseconds since 1970). `rate` is used by scaled clocks
/// only, and 0.000001 to 1,000,000.
void diorama_clock_move(
  struct diorama_clock_page *page, enum diorama_clock_mode mode, int64_t real, int64_t shown, double rate);

/// What programs are supervised for. The random values need the clock, which may be real.
enum diorama_supervision {
  DIORAMA_CLOCK = 1,
  DIORAMA_RANDOM = 2,
  DIORAMA_NETWORK = 4,
};

/// Installs the filter in the calling process, which must have one thread, and sends the listener over a Unix socket.
///
/// Without CAP_SYS_ADMIN it sets no_new_privs: setuid programs run without their owner's rights. `parts` are bits of
/// `diorama_supervision`, for which the supervisor must be prepared. With none of them there is no listener. Unless the network
/// is supervised, sockets of AF_VSOCK are refused, since namespaces do not apply to them. On failure, errno is that of the system call; EBUSY
/// below another listener.
int diorama_clock_enter(int socket, unsigned parts, char *error);

/// Receives the listener that `diorama_clock_enter` sent. -1 if the child could not install the filter.
int diorama_clock_receive_listener(int socket, char *error);

/// Called with one line for each program that keeps the real clock or random values, reads its clock slowly, or has no
/// network, and why.
typedef void (*diorama_clock_report)(void *context, const char *line);

struct diorama_clock_supervisor;

/// Checks that programs can be given the clock of `page`, before a filter is installed. Does not keep the descriptor. With a
/// negative one, programs have the real clock and real random values.
struct diorama_clock_supervisor *diorama_clock_supervisor_create(
  int page, diorama_clock_report report, void *context, char *error);

/// Gives programs random values from a seed. To be called before the first one starts.
int diorama_clock_supervisor_seed(
  struct diorama_clock_supervisor *supervisor, const void *seed, size_t length, char *error);

/// Where the connections of programs lead.
struct diorama_network {
  /// The TCP port of the server, which listens on all addresses of the loopback device.
  uint16_t listener_port;
  /// The UDP port of the name server at 127.0.0.1.
  uint16_t dns_port;
  /// TCP ports of loopback addresses that programs may reach, besides those of their own servers.
  const uint16_t *ports;
  size_t port_count;
  /// The descriptor of `diorama_connections_create`, which is not kept.
  int table;
};

/// Leads the connections of programs to a server. To be called before the first one starts.
int diorama_clock_supervisor_network(
  struct diorama_clock_supervisor *supervisor, const struct diorama_network *network, char *error);

/// Random bytes from the seed that belong to no process.
enum diorama_random_purpose {
  /// The content of /dev/random and /dev/urandom.
  DIORAMA_RANDOM_DEVICES = 3,
  /// Variables by which runtimes are seeded.
  DIORAMA_RANDOM_VARIABLES = 4,
};

/// Fills memory with random bytes from the seed. `offset` is a multiple of 64.
void diorama_random_fill(
  const struct diorama_clock_supervisor *supervisor, enum diorama_random_purpose purpose, uint64_t offset, void *bytes,
  size_t length);

/// Answers one notification of the listener. Does not block after poll(2) has reported POLLIN.
void diorama_clock_answer(struct diorama_clock_supervisor *supervisor, int listener);

void diorama_clock_supervisor_free(struct diorama_clock_supervisor *supervisor);
#endif
