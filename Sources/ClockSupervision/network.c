#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "filter.h"
#include "local_sockets.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

// Two things keep programs from the network.
//
//  1. Every socket of IPv4 and IPv6 is made here, bound to the loopback device (socket(7), SO_BINDTODEVICE), and added to the
//     program. The filter refuses another device, so nothing that is sent by it leaves the machine, unless one of the calls
//     below names a device.
//  2. Calls with a destination are judged by a copy of the address. If it is not on this machine, the socket is connected
//     to the server here.
//
// seccomp_unotify(2): of a call that is continued, another thread may change the arguments in the meantime. So calls that could
// name a device are made here, with the copies: datagrams (IP_PKTINFO, and the scope of an IPv6 address), bind(2) of IPv6
// (the scope, too), and AF_UNSPEC in connect(2), which unbinds a socket of UDP.

// An IPv4 address is mapped (RFC 4291, 2.5.5.2).
struct destination {
  struct in6_addr address;
  uint16_t port;
};

// A socket that has sent to a name server, and the address that the program knows it by. Resolvers ignore answers from others.
struct resolver {
  uint64_t inode;
  // Ours, which is kept open after the program has closed its own.
  int copy;
  struct sockaddr_storage address;
  socklen_t length;
};

enum { RESOLVERS = 32 };

struct network {
  struct local_sockets sockets;
  struct diorama_connection *table;
  uint32_t last;
  uint16_t listener_port, dns_port;
  uint16_t *ports;
  size_t port_count;
  // The network namespace in which the server is; the cookie is 0 before Linux 5.14.
  ino_t space;
  uint64_t cookie;
  // The index of the loopback device.
  unsigned loopback;
  struct resolver resolvers[RESOLVERS];
  size_t next_resolver;
};

// A call with what belongs to it.
struct context {
  struct network *network;
  int listener;
  const struct seccomp_notif *call;
  struct seccomp_notif_resp *answer;
  const char **problem;
  pid_t pid;
  // The memory of the program; negative until it is needed.
  int *memory;
};

static const char problem_memory[] = "open of /proc/PID/mem; run it as the user of diorama, and allow tracing (Yama's ptrace_scope)";

static struct in6_addr mapped(uint32_t address) {
  struct in6_addr result = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
  address = htonl(address);
  memcpy(result.s6_addr + 12, &address, 4);
  return result;
}

static struct destination destination_of(const struct sockaddr_storage *address) {
  if (address->ss_family == AF_INET6) {
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    return (struct destination){six->sin6_addr, ntohs(six->sin6_port)};
  }
  const struct sockaddr_in *four = (const struct sockaddr_in *)address;
  return (struct destination){mapped(ntohl(four->sin_addr.s_addr)), ntohs(four->sin_port)};
}

// ---- The table of connections

int diorama_connections_create(char *error) {
  int table = memfd_create("diorama-connections", MFD_CLOEXEC);
  if (table >= 0 && !ftruncate(table, DIORAMA_CONNECTIONS * sizeof(struct diorama_connection))) return table;
  int code = errno;
  snprintf(error, DIORAMA_CLOCK_ERROR, "cannot make a table of connections: %s: %s; free memory, or raise `ulimit -n`",
    table < 0 ? "memfd_create" : "ftruncate", strerror(code));
  if (table >= 0) close(table);
  errno = code;
  return -1;
}

struct diorama_connection *diorama_connections_map(int table, char *error) {
  void *mapped = mmap(NULL, DIORAMA_CONNECTIONS * sizeof(struct diorama_connection), PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
  if (mapped != MAP_FAILED) return mapped;
  snprintf(error, DIORAMA_CLOCK_ERROR, "cannot map the table of connections: mmap: %s; free memory", strerror(errno));
  return NULL;
}

bool diorama_connections_take(struct diorama_connection *table, int accepted, struct diorama_connection *connection) {
  struct sockaddr_in local = {0}, peer = {0};
  socklen_t local_length = sizeof local, peer_length = sizeof peer;
  if (getsockname(accepted, (struct sockaddr *)&local, &local_length)
    || getpeername(accepted, (struct sockaddr *)&peer, &peer_length) || local.sin_family != AF_INET) return false;
  uint32_t number = ntohl(local.sin_addr.s_addr) - DIORAMA_CONNECTION_NETWORK;
  if (!number || number >> DIORAMA_CONNECTION_BITS) return false;
  struct diorama_connection *entry = &table[number % DIORAMA_CONNECTIONS];
  // The supervisor writes the source right after its connect(2), which we may have accepted before. It may be killed in
  // between, so this does not wait longer than a second.
  for (int attempt = 0; !__atomic_load_n(&entry->source_port, __ATOMIC_ACQUIRE) && attempt < 10000; attempt++) {
    if (__atomic_load_n(&entry->number, __ATOMIC_ACQUIRE) != number) return false;
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
  }
  *connection = *entry;
  bool is_ours = __atomic_load_n(&entry->number, __ATOMIC_ACQUIRE) == number && connection->source_port == ntohs(peer.sin_port)
    && connection->source_address == peer.sin_addr.s_addr;
  return is_ours && !__atomic_exchange_n(&entry->is_taken, 1, __ATOMIC_ACQ_REL);
}

// Notes a destination. The result is the address to connect to, in host byte order.
static uint32_t add_connection(struct network *network, const struct destination *destination) {
  network->last = (network->last + 1) & ((UINT32_C(1) << DIORAMA_CONNECTION_BITS) - 1);
  if (!network->last) network->last = 1;
  struct diorama_connection *entry = &network->table[network->last % DIORAMA_CONNECTIONS];
  bool is_v4 = IN6_IS_ADDR_V4MAPPED(&destination->address);
  __atomic_store_n(&entry->number, 0, __ATOMIC_RELEASE);
  memset(entry->address, 0, sizeof entry->address);
  memcpy(entry->address, destination->address.s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
  entry->port = destination->port;
  entry->is_v6 = !is_v4;
  __atomic_store_n(&entry->is_taken, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->source_port, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&entry->number, network->last, __ATOMIC_RELEASE);
  return DIORAMA_CONNECTION_NETWORK + network->last;
}

// Completes the last entry after connect(2) with its result: the source of the connection. If there is none, a connection of
// another program must not be served as this one.
static void complete_connection(struct network *network, int copy, int error) {
  struct diorama_connection *entry = &network->table[network->last % DIORAMA_CONNECTIONS];
  struct sockaddr_storage source;
  socklen_t length = sizeof source;
  if ((error && error != EINPROGRESS) || getsockname(copy, (struct sockaddr *)&source, &length)) {
    __atomic_store_n(&entry->number, 0, __ATOMIC_RELEASE);
    return;
  }
  struct destination its = destination_of(&source);
  memcpy(&entry->source_address, its.address.s6_addr + 12, sizeof entry->source_address);
  __atomic_store_n(&entry->source_port, its.port, __ATOMIC_RELEASE);
}

// The cookie of the network namespace of a socket; 0 if the kernel has none.
static uint64_t cookie_of(int socket_) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(socket_, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) ? 0 : cookie;
}

struct network *network_create(const struct diorama_network *settings, char *error) {
  struct stat space;
  struct network *network = calloc(1, sizeof *network);
  if (network) local_sockets_create(&network->sockets, settings->listener_port);
  if (!network || !(network->ports = calloc(settings->port_count + 1, sizeof *network->ports))) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot supervise the network: out of memory; free memory");
  } else if (stat("/proc/self/ns/net", &space)) {
    snprintf(error, DIORAMA_CLOCK_ERROR, "cannot supervise the network: /proc/self/ns/net: %s; mount /proc", strerror(errno));
  } else if ((network->table = diorama_connections_map(settings->table, error))) {
    int trial = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    network->cookie = cookie_of(trial);
    if (trial >= 0) close(trial);
    network->loopback = if_nametoindex("lo");
    network->space = space.st_ino;
    network->listener_port = settings->listener_port;
    network->dns_port = settings->dns_port;
    network->port_count = settings->port_count;
    memcpy(network->ports, settings->ports, settings->port_count * sizeof *network->ports);
    return network;
  }
  network_free(network);
  return NULL;
}

void network_free(struct network *network) {
  if (!network) return;
  if (network->table) munmap(network->table, DIORAMA_CONNECTIONS * sizeof *network->table);
  local_sockets_free(&network->sockets);
  for (size_t i = 0; i < RESOLVERS; i++)
    if (network->resolvers[i].inode) close(network->resolvers[i].copy);
  free(network->ports);
  free(network);
}

// ---- What belongs to the program

static bool is_valid(const struct context *context) {
  return !ioctl(context->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &context->call->id);
}

static enum network_answer refuse(struct context *context, int code) {
  context->answer->flags = 0;
  context->answer->val = 0;
  context->answer->error = -code;
  return NETWORK_ANSWER;
}

static enum network_answer succeed(struct context *context, int64_t value) {
  context->answer->flags = 0;
  context->answer->val = value;
  context->answer->error = 0;
  return NETWORK_ANSWER;
}

// The call happens as usual.
static enum network_answer continue_(void) { return NETWORK_ANSWER; }

// Copies memory of the program. The result is 0 or an error.
static int copy_memory(const struct context *context, void *to, uint64_t from, size_t length, bool writes) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", context->pid);
  int *memory = context->memory;
  if (*memory < 0) *memory = open(path, O_RDWR | O_CLOEXEC);
  if (*memory < 0) {
    if (is_valid(context)) *context->problem = problem_memory;
    return EACCES;
  }
  // If the process that called is still there, what was opened belongs to it.
  bool is_whole = is_valid(context)
    && (writes ? pwrite(*memory, to, length, (off_t)from) : pread(*memory, to, length, (off_t)from)) == (ssize_t)length;
  return is_whole ? 0 : EFAULT;
}

static int read_memory(const struct context *context, void *to, uint64_t from, size_t length) {
  return copy_memory(context, to, from, length, false);
}

// The process of a thread: proc_pid_status(5).
static pid_t process_of(pid_t thread) {
  char path[64], line[128];
  pid_t process = thread;
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  FILE *file = fopen(path, "re");
  if (!file) return thread;
  while (fgets(line, sizeof line, file) && sscanf(line, "Tgid: %d", &process) != 1) {}
  fclose(file);
  return process;
}

// Copies a descriptor of the program. -1 if it cannot be copied.
static int copy_descriptor(const struct context *context, int descriptor) {
  // pidfd_open(2): before Linux 6.9 for processes only.
  int process = (int)syscall(SYS_pidfd_open, context->pid, PIDFD_THREAD);
  if (process < 0 && errno == EINVAL) process = (int)syscall(SYS_pidfd_open, process_of(context->pid), 0);
  if (process < 0) return -1;
  int copy = (int)syscall(SYS_pidfd_getfd, process, descriptor, 0);
  int code = errno;
  close(process);
  errno = code;
  return copy;
}

// Whether a new socket of the program has a network of its own, which the server cannot reach, and which leads nowhere.
static bool has_own_network(const struct context *context) {
  char path[64];
  struct stat space;
  snprintf(path, sizeof path, "/proc/%d/ns/net", context->pid);
  return !stat(path, &space) && space.st_ino != context->network->space && is_valid(context);
}

// Makes a socket that is bound to the loopback device. -1 if that fails.
static int make_socket(struct network *network, int family, int type, int protocol) {
  struct stat its;
  int made = socket(family, type | SOCK_CLOEXEC, protocol);
  if (made < 0) return -1;
  if (!setsockopt(made, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo") && !fstat(made, &its)) {
    if (local_sockets_add(&network->sockets, its.st_ino, family, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))) return made;
    errno = ENOMEM;
  }
  int code = errno;
  close(made);
  errno = code;
  return -1;
}

// A number for a socket of UDP; 0 if none is free. The highest one: the kernel gives others the lowest, and a thread that gets
// the same number at the same time would lose its descriptor.
static int free_number(const struct context *context) {
  for (int number = DATAGRAM_DESCRIPTORS_END - 1; number >= DATAGRAM_DESCRIPTORS; number--) {
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", context->pid, number);
    if (readlink(path, target, sizeof target) < 0) return errno == ENOENT ? number : 0;
  }
  return 0;
}

// socket(2), of a kind that the filter lets through.
static enum network_answer add_socket(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  int type = (int)data->args[1];
  if (has_own_network(context)) return continue_();
  int made = make_socket(context->network, (int)data->args[0], type, (int)data->args[2]);
  if (made < 0) return refuse(context, errno);
  int number = (type & 0xf) == SOCK_DGRAM ? free_number(context) : 0;
  struct seccomp_notif_addfd addition = {
    .id = context->call->id, .srcfd = (uint32_t)made, .newfd = (uint32_t)number,
    .newfd_flags = type & SOCK_CLOEXEC ? O_CLOEXEC : 0,
  };
  // Not SECCOMP_ADDFD_FLAG_SEND: if a signal interrupts us then, the program gets 0, the descriptor of its input.
  if (number) addition.flags = SECCOMP_ADDFD_FLAG_SETFD;
  int added = ioctl(context->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
  if (added < 0 && number && errno == EBADF) {
    // The number is above the program's limit.
    addition.flags = 0;
    addition.newfd = 0;
    added = ioctl(context->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition);
  }
  enum network_answer answer = added < 0 ? refuse(context, errno) : succeed(context, added);
  close(made);
  return answer;
}

// Whether a socket belongs to a network of its own. A program that enters one keeps its sockets of this one.
static bool is_elsewhere(const struct context *context, int copy) {
  struct stat its;
  if (context->network->cookie) return cookie_of(copy) != context->network->cookie;
  return has_own_network(context) && (fstat(copy, &its) || !local_sockets_find(&context->network->sockets, its.st_ino));
}

static struct resolver *find_resolver(struct network *network, uint64_t inode) {
  for (size_t i = 0; i < RESOLVERS; i++)
    if (network->resolvers[i].inode == inode) return &network->resolvers[i];
  return NULL;
}

// A socket of the program.
struct subject {
  // Ours; negative without one.
  int copy;
  // If the socket takes the place of the program's: its flags.
  bool is_new;
  // Whether that has happened before, to be connected; then there is none.
  bool is_connecting;
  int flags;
  int family, type;
};

// Finds the inode of a socket of the program. Returns 0 or an error.
static int find_inode(const struct context *context, int descriptor, uint64_t *inode) {
  char path[64], target[64];
  // Of the thread, which may have descriptors of its own.
  snprintf(path, sizeof path, "/proc/%d/fd/%d", context->pid, descriptor);
  ssize_t length = readlink(path, target, sizeof target - 1);
  if (length < 0) return errno == ENOENT ? EBADF : EACCES;
  target[length] = 0;
  return sscanf(target, "socket:[%lu]", inode) == 1 ? 0 : ENOTSOCK;
}

// Whether a descriptor of the program is a socket of UDP that was made here.
static bool is_datagram(const struct context *context, int descriptor) {
  uint64_t inode;
  if (find_inode(context, descriptor, &inode)) return false;
  const struct local_socket *known = local_sockets_find(&context->network->sockets, inode);
  return known && known->type == SOCK_DGRAM;
}

// Copies the socket to which a call refers, or, where pidfd_getfd(2) is refused, as by container engines, makes another one
// for it. Returns 0 or an error; ENOTSOCK if it is none of IPv4 or IPv6 in this network, so that the call may happen. EACCES if
// that is not known, or the socket was not made here.
static int find_subject(const struct context *context, int descriptor, bool is_replaced, struct subject *subject) {
  char path[64], line[128];
  *subject = (struct subject){.copy = -1};
  int copy = is_replaced ? -1 : copy_descriptor(context, descriptor);
  if (copy >= 0) {
    socklen_t size = sizeof(int);
    if (getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &subject->family, &size)) subject->family = 0;
    size = sizeof(int);
    if (getsockopt(copy, SOL_SOCKET, SO_TYPE, &subject->type, &size)) subject->type = 0;
    if ((subject->family == AF_INET || subject->family == AF_INET6) && !is_elsewhere(context, copy)) {
      subject->copy = copy;
      return 0;
    }
    close(copy);
    return ENOTSOCK;
  }
  if (!is_replaced && errno == EBADF) return EBADF;
  uint64_t inode;
  int error = find_inode(context, descriptor, &inode);
  if (error) return error;
  const struct local_socket *known = local_sockets_find(&context->network->sockets, inode);
  if (!known) return EACCES;
  subject->family = known->family;
  subject->type = known->type;
  subject->is_connecting = known->is_connecting;
  if (subject->is_connecting) return 0;
  const struct resolver *resolver = find_resolver(context->network, inode);
  if (resolver) {
    subject->copy = fcntl(resolver->copy, F_DUPFD_CLOEXEC, 3);
    return subject->copy < 0 ? errno : 0;
  }
  snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", context->pid, descriptor);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "flags: %o", (unsigned *)&subject->flags) != 1) {}
  if (file) fclose(file);
  if (!is_valid(context)) return ENOENT;
  subject->copy = make_socket(context->network, subject->family, subject->type | (subject->flags & O_NONBLOCK ? SOCK_NONBLOCK : 0), 0);
  subject->is_new = true;
  return subject->copy < 0 ? errno : 0;
}

// Puts a new socket into the place of the program's. Returns 0 or an error.
static int replace(const struct context *context, int descriptor, const struct subject *subject) {
  if (!subject->is_new) return 0;
  struct seccomp_notif_addfd addition = {
    .id = context->call->id, .flags = SECCOMP_ADDFD_FLAG_SETFD, .srcfd = (uint32_t)subject->copy,
    .newfd = (uint32_t)descriptor, .newfd_flags = subject->flags & O_CLOEXEC ? O_CLOEXEC : 0,
  };
  if (ioctl(context->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addition) < 0) return errno;
  struct stat its;
  struct local_socket *known = fstat(subject->copy, &its) ? NULL : local_sockets_find(&context->network->sockets, its.st_ino);
  if (known && subject->type == SOCK_STREAM) known->is_connecting = true;
  return 0;
}

// ---- Addresses

// Reads an address of a call. Returns 0 or an error.
static int read_address(const struct context *context, uint64_t from, int length, struct sockaddr_storage *address) {
  memset(address, 0, sizeof *address);
  if (length < (int)sizeof(sa_family_t) || length > (int)sizeof *address) return EINVAL;
  int error = read_memory(context, address, from, (size_t)length);
  if (error) return error;
  bool is_short = (address->ss_family == AF_INET && length < (int)sizeof(struct sockaddr_in))
    // ipv6(7): sin6_scope_id may be missing.
    || (address->ss_family == AF_INET6 && length < (int)offsetof(struct sockaddr_in6, sin6_scope_id));
  return is_short ? EINVAL : 0;
}

// Makes an IPv4 address of the server into one for a socket of a family. Returns its length.
static socklen_t make_address(struct sockaddr_storage *address, int family, uint32_t number, uint16_t port) {
  memset(address, 0, sizeof *address);
  if (family == AF_INET) {
    *(struct sockaddr_in *)address =
      (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(number)};
    return sizeof(struct sockaddr_in);
  }
  *(struct sockaddr_in6 *)address =
    (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = mapped(number)};
  return sizeof(struct sockaddr_in6);
}

// Notes that a socket sends to a name server.
static void note_resolver(
  struct network *network, const struct subject *subject, const struct sockaddr_storage *address, socklen_t length) {
  struct stat its;
  if (fstat(subject->copy, &its)) return;
  struct resolver *resolver = find_resolver(network, its.st_ino);
  if (!resolver) {
    int copy = fcntl(subject->copy, F_DUPFD_CLOEXEC, 3);
    if (copy < 0) return;
    resolver = &network->resolvers[network->next_resolver++ % RESOLVERS];
    if (resolver->inode) close(resolver->copy);
    resolver->inode = its.st_ino;
    resolver->copy = copy;
  }
  resolver->address = *address;
  resolver->length = length;
}

enum way {
  // The call may happen: the destination is a socket of the command, or a port that is let in.
  DIRECT,
  TO_LISTENER,
  TO_NAME_SERVER,
  // A port of this machine that is not let in.
  TO_CLOSED_PORT,
  // As without a network.
  TO_NOWHERE,
};

static enum way decide(const struct network *network, int type, const struct destination *destination) {
  const unsigned char *bytes = destination->address.s6_addr;
  bool is_v4 = IN6_IS_ADDR_V4MAPPED(&destination->address), is_stream = type == SOCK_STREAM;
  bool is_here = is_v4 ? bytes[12] == 127 || !memcmp(bytes + 12, "\0\0\0", 4)
    : IN6_IS_ADDR_LOOPBACK(&destination->address) || IN6_IS_ADDR_UNSPECIFIED(&destination->address);
  // Multicast, experimental addresses and broadcast.
  bool is_many = is_v4 ? bytes[12] >= 224 : IN6_IS_ADDR_MULTICAST(&destination->address);
  if (is_many) return TO_NOWHERE;
  if (is_stream && is_here)
    for (size_t i = 0; i < network->port_count; i++)
      if (network->ports[i] == destination->port) return DIRECT;
  if (local_sockets_receive(&network->sockets, type, &destination->address, destination->port)) return DIRECT;
  // Of any address: that of the name server is the machine's.
  if (destination->port == 53) return is_stream ? TO_LISTENER : TO_NAME_SERVER;
  if (is_here) return TO_CLOSED_PORT;
  return is_stream ? TO_LISTENER : TO_NOWHERE;
}

// The sockets of resolver caches, which would ask the real servers, as in NameResolution. Without them, programs ask a name
// server.
static bool is_resolver(const struct sockaddr_storage *address) {
  static const char *const paths[] = {
    "/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/resolve/io.systemd.Resolve.Monitor", "/run/avahi-daemon/socket", "/var/run/avahi-daemon/socket",
  };
  const struct sockaddr_un *unix_ = (const struct sockaddr_un *)address;
  // unix(7): the path may end with a null byte, or at the end of the address.
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (!strncmp(unix_->sun_path, paths[i], sizeof unix_->sun_path)) return true;
  return false;
}

// ---- connect(2)

// Connects without waiting, and without a change of the socket's flags. Returns 0 or an error.
static int connect_now(int socket_, const struct sockaddr_storage *address, socklen_t length) {
  int flags = fcntl(socket_, F_GETFL);
  if (!(flags & O_NONBLOCK)) fcntl(socket_, F_SETFL, flags | O_NONBLOCK);
  int error = connect(socket_, (const struct sockaddr *)address, length) ? errno : 0;
  if (!(flags & O_NONBLOCK)) fcntl(socket_, F_SETFL, flags);
  return error;
}

// Lets a socket of IPv6 send to mapped addresses. ipv6(7): fails for one that is bound.
static void allow_mapped(const struct subject *subject) {
  int off = 0;
  if (subject->family == AF_INET6) setsockopt(subject->copy, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
}

// Answers connect(2) with its result.
static enum network_answer end_connect(struct context *context, const struct subject *subject, int error) {
  bool is_waiting = error == EINPROGRESS || error == EALREADY;
  // connect(2) of a socket that is being connected waits for that, whatever the address is. So the program waits itself,
  // with its own timeout and signals.
  if (is_waiting && !(fcntl(subject->copy, F_GETFL) & O_NONBLOCK)) return continue_();
  return refuse(context, error);
}

// Connects a socket to an address of the server.
static enum network_answer lead(struct context *context, int descriptor, struct subject *subject, uint32_t number, uint16_t port) {
  bool is_noted = port == context->network->listener_port;
  struct sockaddr_storage address;
  socklen_t length = make_address(&address, subject->family, number, port);
  allow_mapped(subject);
  int error = connect_now(subject->copy, &address, length);
  bool is_unfit = error == EINVAL || error == ENETUNREACH || error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
  if (is_unfit && !subject->is_new) {
    // It is bound to an address that cannot be left.
    close(subject->copy);
    error = find_subject(context, descriptor, true, subject);
    if (!error) {
      allow_mapped(subject);
      error = connect_now(subject->copy, &address, length);
    }
  }
  if (is_noted) complete_connection(context->network, subject->copy, error);
  if (!error || error == EINPROGRESS || error == EALREADY) {
    int failed = replace(context, descriptor, subject);
    if (failed) return refuse(context, failed);
  }
  return end_connect(context, subject, error);
}

// AF_UNSPEC in connect(2): ends the connection, which unbinds a socket of UDP from its device.
static enum network_answer disconnect(struct context *context) {
  static const struct sockaddr none = {.sa_family = AF_UNSPEC};
  struct subject subject;
  int descriptor = (int)context->call->data.args[0], error = find_subject(context, descriptor, false, &subject);
  if (error == ENOTSOCK || error == EACCES || (!error && subject.is_connecting)) return continue_();
  if (error) return refuse(context, error);
  enum network_answer answer;
  if (!subject.is_new) {
    error = connect(subject.copy, &none, sizeof none);
    if (!error && subject.type == SOCK_DGRAM) error = setsockopt(subject.copy, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo");
    answer = refuse(context, error ? errno : 0);
  } else {
    // A new socket is not connected. Those of TCP keep their device.
    answer = subject.type == SOCK_DGRAM ? refuse(context, replace(context, descriptor, &subject)) : continue_();
  }
  close(subject.copy);
  return answer;
}

static enum network_answer answer_connect(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  int descriptor = (int)data->args[0];
  struct sockaddr_storage address;
  int error = read_address(context, data->args[1], (int)data->args[2], &address);
  if (error) return refuse(context, error);
  if (address.ss_family == AF_UNIX && is_resolver(&address)) return refuse(context, ENOENT);
  if (address.ss_family == AF_UNSPEC) return disconnect(context);
  // A socket of IPv4 or IPv6 refuses others, unless the family changes to AF_UNSPEC in the meantime.
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
    return is_datagram(context, descriptor) ? refuse(context, EAFNOSUPPORT) : continue_();
  struct subject subject;
  struct destination destination = destination_of(&address);
  error = find_subject(context, descriptor, false, &subject);
  if (error == ENOTSOCK) return continue_();
  if (error) return refuse(context, error);
  // The address is ignored until the connection is there or has failed.
  if (subject.is_connecting) return continue_();
  enum network_answer answer;
  if (subject.family == AF_INET && address.ss_family == AF_INET6) {
    answer = refuse(context, EAFNOSUPPORT);
  } else {
    switch (decide(context->network, subject.type, &destination)) {
      case DIRECT:
        answer = subject.is_new
          ? continue_() : end_connect(context, &subject, connect_now(subject.copy, &address, (socklen_t)data->args[2]));
        break;
      case TO_LISTENER:
        answer = lead(context, descriptor, &subject, add_connection(context->network, &destination), context->network->listener_port);
        break;
      case TO_NAME_SERVER:
        answer = lead(context, descriptor, &subject, INADDR_LOOPBACK, context->network->dns_port);
        note_resolver(context->network, &subject, &address, (socklen_t)data->args[2]);
        break;
      case TO_CLOSED_PORT:
        // UDP has no connections: the error comes when something is sent. No socket is bound to this port of number 0, since
        // the name server has it at another address. getaddrinfo(3) connects such sockets to sort addresses.
        answer = subject.type == SOCK_DGRAM
          ? lead(context, descriptor, &subject, DIORAMA_CONNECTION_NETWORK, context->network->dns_port)
          : refuse(context, ECONNREFUSED);
        break;
      case TO_NOWHERE:
      default: answer = refuse(context, ENETUNREACH); break;
    }
  }
  if (subject.copy >= 0) close(subject.copy);
  return answer;
}

// ---- bind(2)

// Whether an address names a device other than the loopback one. ipv6(7): with sin6_scope_id, which counts for link-local and
// some multicast addresses.
static bool names_device(const struct network *network, const struct sockaddr_storage *address) {
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
  return address->ss_family == AF_INET6 && six->sin6_scope_id && six->sin6_scope_id != network->loopback
    && (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) || IN6_IS_ADDR_MULTICAST(&six->sin6_addr));
}

static enum network_answer answer_bind(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  struct sockaddr_storage address;
  struct subject subject;
  int error = find_subject(context, (int)data->args[0], false, &subject);
  // The kernel knows what is wrong with the descriptor.
  if (error || subject.is_connecting) return continue_();
  enum network_answer answer = continue_();
  if (subject.family == AF_INET6) {
    error = read_address(context, data->args[1], (int)data->args[2], &address);
    if (!error && names_device(context->network, &address)) error = EADDRNOTAVAIL;
    if (!error && !subject.is_new && bind(subject.copy, (const struct sockaddr *)&address, (socklen_t)data->args[2])) error = errno;
    if (error || !subject.is_new) answer = refuse(context, error);
  }
  close(subject.copy);
  return answer;
}

// ---- sendto(2), sendmsg(2), sendmmsg(2)

// What a message needs.
struct message {
  // The name as it is in the program; 0 without one.
  uint64_t name;
  int name_length;
  // Its copy.
  struct sockaddr_storage address;
  // The parts of the content in the program, or the only one.
  uint64_t parts;
  size_t part_count;
  struct iovec only;
  // The control messages in the program; and how many bytes they have.
  uint64_t control;
  size_t control_length;
  enum way way;
};

static int read_header(const struct context *context, uint64_t from, struct message *message) {
  struct msghdr header;
  int error = read_memory(context, &header, from, sizeof header);
  if (error) return error;
  *message = (struct message){
    .name = (uint64_t)(uintptr_t)header.msg_name, .name_length = (int)header.msg_namelen,
    .parts = (uint64_t)(uintptr_t)header.msg_iov, .part_count = header.msg_iovlen,
    .control = (uint64_t)(uintptr_t)header.msg_control, .control_length = header.msg_control ? header.msg_controllen : 0,
  };
  return 0;
}

// Copies the name. Returns 0 or an error. Without a name, or with one of another family, the family is AF_UNIX.
static int read_name(const struct context *context, struct message *message) {
  message->address.ss_family = AF_UNIX;
  if (!message->name || !message->name_length) return 0;
  int error = read_address(context, message->name, message->name_length, &message->address);
  if (error) return error;
  sa_family_t *family = &message->address.ss_family;
  // For a socket of IPv4, AF_UNSPEC counts as AF_INET.
  if (*family == AF_UNSPEC && message->name_length >= (int)sizeof(struct sockaddr_in)) *family = AF_INET;
  if (*family != AF_INET && *family != AF_INET6) *family = AF_UNIX;
  return 0;
}

// Decides about a message. Returns 0 or an error.
static int judge(const struct context *context, const struct subject *subject, struct message *message) {
  message->way = DIRECT;
  // tcp(7): a name is ignored. The filter refuses MSG_FASTOPEN.
  if (subject->type == SOCK_STREAM) return 0;
  if (message->address.ss_family == AF_UNIX) return message->name && message->name_length ? EAFNOSUPPORT : 0;
  struct destination destination = destination_of(&message->address);
  message->way = decide(context->network, subject->type, &destination);
  return message->way == TO_NOWHERE ? ENETUNREACH : message->way == TO_CLOSED_PORT ? ECONNREFUSED : 0;
}

// The control messages of a message: cmsg(3).
struct control {
  _Alignas(struct cmsghdr) unsigned char bytes[4096];
  size_t length;
  // Whether a device other than the loopback one was named, which was removed.
  bool had_device;
};

// Copies control messages without the devices that they name. ip(7), ipv6(7): IP_PKTINFO takes precedence over the device of
// the socket, and so does IPV6_PKTINFO with an IPv4 address. Returns 0 or an error.
static int read_control(const struct context *context, const struct message *message, struct control *control) {
  control->length = message->control_length;
  control->had_device = false;
  if (!control->length) return 0;
  if (control->length > sizeof control->bytes) return ENOBUFS;
  int error = read_memory(context, control->bytes, message->control, control->length);
  struct cmsghdr header;
  // As the kernel walks through them: in contrast to CMSG_NXTHDR(3), the last one needs no padding.
  for (size_t at = 0; !error && at < control->length && control->length - at >= sizeof header; at += CMSG_ALIGN(header.cmsg_len)) {
    memcpy(&header, control->bytes + at, sizeof header);
    if (header.cmsg_len < sizeof header || header.cmsg_len > control->length - at) return EINVAL;
    bool is_v4 = header.cmsg_level == IPPROTO_IP && header.cmsg_type == IP_PKTINFO;
    // IPV6_2292PKTINFO is the older one.
    bool is_v6 = header.cmsg_level == IPPROTO_IPV6 && (header.cmsg_type == IPV6_PKTINFO || header.cmsg_type == IPV6_2292PKTINFO);
    size_t place = CMSG_LEN(is_v4 ? offsetof(struct in_pktinfo, ipi_ifindex) : offsetof(struct in6_pktinfo, ipi6_ifindex));
    unsigned device = 0;
    if ((!is_v4 && !is_v6) || header.cmsg_len < place + sizeof device) continue;
    memcpy(&device, control->bytes + at + place, sizeof device);
    control->had_device = control->had_device || (device && device != context->network->loopback);
    memset(control->bytes + at + place, 0, sizeof device);
  }
  return error;
}

// Sends a copy of a message: to its destination if that is allowed, otherwise to the name server. Returns its length, or a
// negative error.
static ssize_t send_copy(const struct context *context, const struct subject *subject, const struct message *message, int flags) {
  // udp(7): no datagram is longer.
  unsigned char content[65536];
  size_t length = 0, count = message->part_count;
  struct iovec parts[IOV_MAX] = {message->only}, whole = {content, 0};
  struct control control;
  if (count > sizeof parts / sizeof *parts) return -EMSGSIZE;
  int error = message->parts ? read_memory(context, parts, message->parts, count * sizeof *parts) : 0;
  for (size_t i = 0; !error && i < count; i++) {
    size_t part = parts[i].iov_len;
    if (part > sizeof content - length) return -EMSGSIZE;
    if (part) error = read_memory(context, content + length, (uint64_t)(uintptr_t)parts[i].iov_base, part);
    length += part;
  }
  if (!error) error = read_control(context, message, &control);
  // Its memory is ours.
  if (!error && (flags & MSG_ZEROCOPY)) error = EOPNOTSUPP;
  if (error) return -error;
  struct sockaddr_storage address = message->address;
  socklen_t size = message->address.ss_family == AF_UNIX ? 0 : (socklen_t)message->name_length;
  if (address.ss_family == AF_INET6) ((struct sockaddr_in6 *)&address)->sin6_scope_id = 0;
  if (message->way == TO_NAME_SERVER) {
    allow_mapped(subject);
    size = make_address(&address, subject->family, INADDR_LOOPBACK, context->network->dns_port);
    note_resolver(context->network, subject, &message->address, (socklen_t)message->name_length);
    // They may name an address from which it cannot be reached.
    control.length = 0;
  }
  whole.iov_len = length;
  struct msghdr header = {
    .msg_name = size ? &address : NULL, .msg_namelen = size, .msg_iov = &whole, .msg_iovlen = 1,
    .msg_control = control.length ? control.bytes : NULL, .msg_controllen = control.length,
  };
  ssize_t sent = sendmsg(subject->copy, &header, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

// Decides whether a message may happen as usual, on a socket that cannot be copied. Returns 0 or an error.
static int judge_devices(const struct context *context, const struct message *message) {
  struct control control;
  int error = read_control(context, message, &control);
  if (error) return error;
  return control.had_device || names_device(context->network, &message->address) ? ENETUNREACH : 0;
}

static enum network_answer answer_send(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  int descriptor = (int)data->args[0], error = 0, flags = (int)data->args[data->nr == __NR_sendmsg ? 2 : 3];
  struct message messages[64] = {0};
  size_t count = 1;
  bool is_many = data->nr == __NR_sendmmsg, has_destination = false;
  if (data->nr == __NR_sendto) {
    messages[0].name = data->args[4];
    messages[0].name_length = (int)data->args[5];
    messages[0].part_count = 1;
    messages[0].only = (struct iovec){(void *)(uintptr_t)data->args[1], data->args[2]};
  } else {
    // sendmmsg(2): fewer messages than were asked for may be sent.
    if (is_many) count = data->args[2] < 64 ? (size_t)(unsigned)data->args[2] : 64;
    for (size_t i = 0; !error && i < count; i++)
      error = read_header(context, data->args[1] + i * sizeof(struct mmsghdr), &messages[i]);
  }
  for (size_t i = 0; !error && i < count; i++) {
    error = read_name(context, &messages[i]);
    has_destination = has_destination || messages[i].address.ss_family != AF_UNIX;
  }
  if (error) return refuse(context, error);
  bool is_cut = is_many && (unsigned)data->args[2] > count;
  if (!has_destination && !is_cut) {
    // Only datagrams can name a device. Most messages without a destination are others.
    if (!is_datagram(context, descriptor)) return continue_();
  }
  struct subject subject;
  error = find_subject(context, descriptor, false, &subject);
  // tcp(7): a connection ignores the name.
  if (error == ENOTSOCK || (!error && subject.is_connecting)) return continue_();
  if (error) return refuse(context, error);

  size_t allowed = 0;
  bool is_direct = !is_cut && (subject.type == SOCK_STREAM || subject.is_new);
  for (; allowed < count && !(error = judge(context, &subject, &messages[allowed])); allowed++)
    is_direct = is_direct && messages[allowed].way == DIRECT;
  for (size_t i = 0; !error && is_direct && subject.type != SOCK_STREAM && i < count; i++)
    if ((error = judge_devices(context, &messages[i]))) allowed = 0;
  enum network_answer answer;
  if (!error && is_direct) {
    answer = continue_();
  } else if (!allowed || (error = replace(context, descriptor, &subject))) {
    answer = refuse(context, error);
  } else {
    ssize_t sent = 0;
    size_t done = 0;
    for (; done < allowed && (sent = send_copy(context, &subject, &messages[done], flags)) >= 0; done++) {
      unsigned length = (unsigned)sent;
      uint64_t place = data->args[1] + done * sizeof(struct mmsghdr) + offsetof(struct mmsghdr, msg_len);
      if (is_many) copy_memory(context, &length, place, sizeof length, true);
    }
    answer = !done ? refuse(context, (int)-sent) : succeed(context, is_many ? (int64_t)done : sent);
  }
  close(subject.copy);
  return answer;
}

// ---- recvfrom(2), recvmsg(2)

// Stores an address and its length in the program, as far as there is room. Returns 0 or an error.
static int store_address(
  const struct context *context, uint64_t to, uint64_t length_to, socklen_t room, const void *address, socklen_t length) {
  int error = 0;
  if (to) error = copy_memory(context, (void *)address, to, room < length ? room : length, true);
  return error ? error : copy_memory(context, &length, length_to, sizeof length, true);
}

// Receives an answer of the name server in place of the program, which gets the address that it has asked.
static enum network_answer answer_receive(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  bool is_message = data->nr == __NR_recvmsg;
  int flags = (int)data->args[is_message ? 2 : 3], known = MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC | MSG_CMSG_CLOEXEC | MSG_NOSIGNAL;
  uint64_t inode;
  struct resolver *resolver = find_inode(context, (int)data->args[0], &inode) ? NULL : find_resolver(context->network, inode);
  if (!resolver || flags & ~known) return continue_();
  struct msghdr header = {.msg_name = (void *)(uintptr_t)data->args[4], .msg_iovlen = 1};
  struct iovec parts[64] = {{(void *)(uintptr_t)data->args[1], data->args[2]}};
  int error = 0;
  if (is_message) {
    error = read_memory(context, &header, data->args[1], sizeof header);
    if (!error && header.msg_iovlen > sizeof parts / sizeof *parts) error = EMSGSIZE;
    if (!error) error = read_memory(context, parts, (uint64_t)(uintptr_t)header.msg_iov, header.msg_iovlen * sizeof *parts);
  } else if (header.msg_name) {
    error = read_memory(context, &header.msg_namelen, data->args[5], sizeof header.msg_namelen);
  }
  if (error) return refuse(context, error);

  unsigned char content[65536];
  struct sockaddr_storage from;
  socklen_t from_length = sizeof from;
  ssize_t length =
    recvfrom(resolver->copy, content, sizeof content, MSG_DONTWAIT | (flags & MSG_PEEK), (struct sockaddr *)&from, &from_length);
  if (length < 0) {
    // The program waits itself; it gets the address of the name server.
    bool waits = errno == EAGAIN && !(flags & MSG_DONTWAIT) && !(fcntl(resolver->copy, F_GETFL) & O_NONBLOCK);
    return waits ? continue_() : refuse(context, errno);
  }
  struct destination sender = destination_of(&from);
  struct in6_addr server = mapped(INADDR_LOOPBACK);
  bool is_server = sender.port == context->network->dns_port && !memcmp(&sender.address, &server, sizeof server);
  if (is_server) from_length = resolver->length;
  ssize_t stored = 0;
  for (size_t i = 0; !error && i < header.msg_iovlen && stored < length; i++) {
    size_t part = parts[i].iov_len < (size_t)(length - stored) ? parts[i].iov_len : (size_t)(length - stored);
    if (part) error = copy_memory(context, content + stored, (uint64_t)(uintptr_t)parts[i].iov_base, part, true);
    stored += (ssize_t)part;
  }
  uint64_t name = (uint64_t)(uintptr_t)header.msg_name;
  uint64_t length_to = is_message ? data->args[1] + offsetof(struct msghdr, msg_namelen) : data->args[5];
  if (!error && (name || is_message))
    error = store_address(context, name, length_to, header.msg_namelen, is_server ? &resolver->address : &from, name ? from_length : 0);
  if (!error && is_message) {
    header.msg_controllen = 0;
    header.msg_flags = stored < length ? MSG_TRUNC : 0;
    const size_t rest = offsetof(struct msghdr, msg_controllen);
    error = copy_memory(context, (char *)&header + rest, data->args[1] + rest, sizeof header - rest, true);
  }
  return error ? refuse(context, error) : succeed(context, flags & MSG_TRUNC ? length : stored);
}

// ---- getpeername(2)

static enum network_answer answer_peer(struct context *context) {
  const struct seccomp_data *data = &context->call->data;
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer, room;
  int copy = copy_descriptor(context, (int)data->args[0]);
  if (copy < 0) return continue_();
  bool is_known = !getpeername(copy, (struct sockaddr *)&peer, &length) && (peer.ss_family == AF_INET || peer.ss_family == AF_INET6);
  close(copy);
  if (!is_known) return continue_();
  struct destination server = destination_of(&peer);
  uint32_t address;
  memcpy(&address, server.address.s6_addr + 12, sizeof address);
  uint32_t number = ntohl(address) - DIORAMA_CONNECTION_NETWORK;
  const struct diorama_connection *connection = &context->network->table[number % DIORAMA_CONNECTIONS];
  bool is_ours = IN6_IS_ADDR_V4MAPPED(&server.address) && server.port == context->network->listener_port;
  if (!is_ours || !number || connection->number != number) return continue_();
  if (peer.ss_family == AF_INET) {
    struct sockaddr_in *four = (struct sockaddr_in *)&peer;
    memcpy(&four->sin_addr, connection->address, sizeof four->sin_addr);
    four->sin_port = htons(connection->port);
  } else {
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&peer;
    // An IPv4 address stays a mapped one.
    memcpy(six->sin6_addr.s6_addr + (connection->is_v6 ? 0 : 12), connection->address, connection->is_v6 ? 16 : 4);
    six->sin6_port = htons(connection->port);
  }
  int error = read_memory(context, &room, data->args[2], sizeof room);
  if (!error) error = store_address(context, data->args[1], data->args[2], room, &peer, length);
  return error ? refuse(context, error) : succeed(context, 0);
}

enum network_answer network_answer(
  struct network *network, int listener, const struct seccomp_notif *call, struct seccomp_notif_resp *answer,
  const char **problem) {
  int memory = -1;
  struct context context = {network, listener, call, answer, problem, (pid_t)call->pid, &memory};
  enum network_answer result = NETWORK_OTHER;
  switch (call->data.nr) {
    case __NR_socket: result = add_socket(&context); break;
    case __NR_bind: result = answer_bind(&context); break;
    case __NR_connect: result = answer_connect(&context); break;
    case __NR_sendto:
    case __NR_sendmsg:
    case __NR_sendmmsg: result = answer_send(&context); break;
    case __NR_recvfrom:
    case __NR_recvmsg: result = answer_receive(&context); break;
    case __NR_getpeername: result = answer_peer(&context); break;
  }
  if (memory >= 0) close(memory);
  return result;
}
#endif
