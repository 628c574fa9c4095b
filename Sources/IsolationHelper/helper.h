#pragma once
#if defined(__linux__)
// glibc declares setns(2) and unshare(2) only with this.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// The version of PROTOCOL.md. Both sides must agree, since they are installed as two files.
#define PROTOCOL_VERSION "1"

// Exit statuses: of sysexits.h, and those of shells for a command that does not start.
enum { STATUS_BAD_REQUEST = 64, STATUS_UNAVAILABLE = 69, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

// The addresses of the two networks: W answers, A is the command's. 198.18.0.0/15 is reserved for tests by RFC 2544.
#define W_ADDRESS_4 "198.19.255.1"
#define A_ADDRESS_4 "198.19.255.2"
#define W_ADDRESS_6 "fd64:696f::1"
#define A_ADDRESS_6 "fd64:696f::2"
#define W_LINK "dio1"
#define A_LINK "dio0"

// ---- request.c: packets of PROTOCOL.md

struct list {
  char **items;  // ends with a null pointer once it has an item
  size_t count;
};

// What to do if the clock or the random values are unavailable: nothing, since they are not wanted; continue; or end.
enum wish { NOT_WANTED, OPTIONAL, REQUIRED };

struct request {
  struct list arguments, variables, sources, targets;
  char *folder;
  bool forces_user_namespace;
  // Whether the network is supervised, without namespaces; and the ports of this machine that the command may reach.
  bool is_supervised;
  uint16_t *ports;
  size_t port_count;
  const char *socket_kind;
  enum wish clock, random;
  int page;       // the descriptor of the clock's page; negative without one
  char *seed;     // null without random values
  char *preload;  // the path of a library; null without one
};

enum phase { BEFORE_SETUP = 1, BEFORE_START = 2, RUNNING = 4 };
enum keyword { CLOSED, INVALID, ARG, ENV, CWD, BIND, USERS, SETUP, START, SOCKET, CLOCK, RANDOM, PRELOAD, NETWORK };

// Reads a packet, and adds its values to the request. CLOSED: the other side has ended. INVALID: a failure was
// reported, and this process must leave().
enum keyword read_packet(int control, enum phase phase, struct request *request);

// Adds an item. The result is false if there is no memory.
bool append_item(struct list *list, char *item);

// Sends fields, which end with a null pointer, and descriptors. The result is false if the other side has ended.
bool send_packet(int control, const char *const *fields, const int *descriptors, size_t count);
// Exits in a way that the other side can read the last packet.
void leave(int control, int status) __attribute__((noreturn));

// ---- namespaces.c: the steps

// No signal has these numbers.
enum { COMMAND_STARTED = 0, COMMAND_STARTING = 127 };

struct isolation {
  struct request request;
  // The socket to Diorama; negative for --probe.
  int control;
  // A socket to the supervisor: COMMAND_STARTING, which is answered, COMMAND_STARTED, later each signal that stops the
  // command, as a byte.
  int news;
  // The user and group outside, and whether they are mapped into a user namespace.
  uid_t user;
  gid_t group;
  bool has_user_namespace;
  int network_w, network_a;  // descriptors of the network namespaces
  int route_w, route_a;      // their NETLINK_ROUTE sockets
  int listener, dns4, dns6;
  // The table of connections, in place of dns6, if the network is supervised.
  int table;
  // The steps to take.
  const struct step *steps;
  size_t step_count;
  // The FIFO in place of the random devices, negative without one; how many bytes were written to it; and the devices over
  // which it is mounted.
  int devices;
  uint64_t device_offset;
  bool replaced[2];
  // The supervisor of the clock, of random values and of the network, null without one; whether it has a clock; its notifications, negative without a command.
  struct diorama_clock_supervisor *supervisor;
  bool has_clock;
  int notifications;
  // A process by which the steps are tried, and the end of its socket.
  pid_t trial;
  int trial_status;
  // The signal mask of the command.
  const sigset_t *mask;
  // What failed last: the system call with its arguments, and errno; and what to do, if the step knows it.
  char call[256];
  int error;
  char advice[256];
};

// What a step is for. The last two are no part of the isolation, and taken if they are wanted.
enum purpose { FOR_ISOLATION, FOR_SUPERVISION, FOR_RANDOM };

struct step {
  const char *name;
  // The step without which this one cannot be tried; null for the first.
  const char *needs;
  // Null for the steps that enter_namespaces() takes.
  bool (*run)(struct isolation *);
  enum purpose purpose;
};
// Chooses the steps, by the request.
void choose_steps(struct isolation *isolation);

// Notes a failed system call. The result is false, to be returned by a step.
bool failed(struct isolation *isolation, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

// Creates a process in new user and PID namespaces, as fork(2) does; without namespaces if the network is supervised. On
// failure the result is -1, and `step` is the step that failed.
pid_t enter_namespaces(struct isolation *isolation, const char **step);

// ---- init.c: process 1 of the PID namespace

// Takes the steps, starts the command, serves the socket, and exits with the command's status.
void run_init(struct isolation *isolation, const sigset_t *mask) __attribute__((noreturn));
// Takes the steps, and prints a line for each; exits with 0 if all of them work.
void probe_init(struct isolation *isolation) __attribute__((noreturn));
// Reports a failed step to Diorama.
void report_failure(struct isolation *isolation, const char *step);
void print_step(const char *step, struct isolation *isolation, const char *missing);

// ---- processes.c

// Makes this process the parent of orphans among its descendants.
void adopt_orphans(void);
// Kills all descendants of this process, and waits for their end.
void end_descendants(void);

// ---- network.c: the steps of a supervised network

bool open_loopback_sockets(struct isolation *isolation);
bool try_connection(struct isolation *isolation);
// Gives the supervisor the network; makes one if there is none.
bool supervise_network(struct isolation *isolation);
// Runs in the trial process: connects to an address elsewhere, and sends the error.
void connect_elsewhere(struct isolation *isolation, int status);

// ---- advice.c

// What would make a step work that has just failed.
const char *advice(const struct isolation *isolation, const char *step);

// ---- mounts.c

bool make_mount_namespace(struct isolation *isolation);
bool mount_proc(struct isolation *isolation);
bool bind_files(struct isolation *isolation);
// Writes a file of /proc, which takes its content in one write(2).
bool write_file(struct isolation *isolation, const char *path, const char *content);

// ---- supervision.c

bool replace_devices(struct isolation *isolation);
bool find_vdso(struct isolation *isolation);
bool try_notification(struct isolation *isolation);
bool write_memory(struct isolation *isolation);
// Makes the supervisor, with the clock of a page, or without one if it is negative.
bool make_supervisor(struct isolation *isolation, int page, char *error);
// Undoes these steps. The clock may be kept if replace_devices() has failed.
bool give_up_supervision(struct isolation *isolation, bool keeps_clock);
// Ends the process by which the steps are tried.
void end_trial(struct isolation *isolation);
// Notes an error of ClockSupervision, "what happened; what to do". The result is false.
bool failed_by(struct isolation *isolation, int error, const char *line);

// Creates a process that enters the filter, if there is a supervisor, and then runs `run` with its end of a socket, which
// is closed on exec; ours goes to `status`. The result is -1 if a call has failed.
pid_t fork_supervised(struct isolation *isolation, int *status, void (*run)(struct isolation *, int));
// Adds what the clock's library and seeded runtimes need to the variables of the command.
bool add_variables(struct isolation *isolation);
// Turns address randomisation off in the calling process, if there is a seed.
void fix_addresses(struct isolation *isolation);
void answer_notification(struct isolation *isolation);
void fill_devices(struct isolation *isolation);

// ---- netlink.c

// Messages that are sent as one datagram.
struct messages {
  size_t length, start;
  int acknowledged;  // how many of them are answered
  _Alignas(8) unsigned char bytes[2048];
};
void begin_message(struct messages *messages, int type, int flags, const void *header, size_t size);
void add_attribute(struct messages *messages, int type, const void *data, size_t size);
size_t begin_nested(struct messages *messages, int type);
void end_nested(struct messages *messages, size_t start);
int open_netlink(struct isolation *isolation, int protocol);
// Sends messages and checks every answer. `what` describes them for an error.
bool send_messages(struct isolation *isolation, int netlink, struct messages *messages, const char *what);

bool set_link_up(struct isolation *isolation, int netlink, const char *name);
// Turns off the generation of an IPv6 link-local address. It becomes usable only after a second or two; programs such as
// Chromium then see a change of the network, and cancel the requests that they have begun.
bool generate_no_address(struct isolation *isolation, int netlink, const char *name);
bool add_link_pair(struct isolation *isolation, int netlink, int peer_namespace);
bool add_address(struct isolation *isolation, int netlink, const char *link, const char *address, int prefix);
// A default route through a gateway, or, without one, a route that makes every address one of this namespace.
bool add_route(struct isolation *isolation, int netlink, int family, const char *gateway);

// ---- nftables.c

// Hands every TCP connection that arrives to the transparent listener.
bool intercept_connections(struct isolation *isolation, unsigned short port);
#endif
