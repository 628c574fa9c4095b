// The namespaces of an isolated command: user_namespaces(7), pid_namespaces(7), network_namespaces(7).
//
// The command runs in network A. Its only way out leads to network W, where every address is local and every TCP
// connection arrives at one listener. There are two networks, because in one the command's own server on port 8080
// would receive connections to port 8080 of other hosts.
#include "helper.h"
#if defined(__linux__)
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

bool failed(struct isolation *isolation, int error, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(isolation->call, sizeof isolation->call, format, values);
  va_end(values);
  isolation->error = error;
  isolation->advice[0] = 0;
  return false;
}

// Whether this process may create the other namespaces and set up networks in them without a user namespace. In a user
// namespace with one user, programs that change their user fail, so root gets none.
static bool has_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
  if (syscall(SYS_capget, &header, data)) return false;
  const unsigned wanted = 1u << CAP_SYS_ADMIN | 1u << CAP_NET_ADMIN;
  return (data[0].effective & wanted) == wanted;
}

// clone(2) without a stack returns twice, as fork(2) does. In contrast to unshare(2), it creates a user namespace also
// in a process with threads, such as that of a sanitizer.
static pid_t clone_process(unsigned long flags) { return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0); }

pid_t enter_namespaces(struct isolation *isolation, const char **step) {
  // user_namespaces(7): until IDs are mapped, getuid(2) returns 65534.
  isolation->user = getuid();
  isolation->group = getgid();
  *step = "command";
  if (isolation->request.is_supervised) {
    pid_t process = fork();
    if (process < 0) failed(isolation, errno, "fork");
    return process;
  }
  isolation->has_user_namespace = isolation->request.forces_user_namespace || !has_capabilities();
  unsigned long users = isolation->has_user_namespace ? CLONE_NEWUSER : 0;
  pid_t pid = clone_process(users | CLONE_NEWPID);
  if (pid >= 0) return pid;
  int error = errno;
  if (users) {
    // The error does not show which of the two was refused.
    pid_t trial = clone_process(users);
    if (trial == 0) _exit(0);
    if (trial < 0) {
      failed(isolation, errno, "clone(CLONE_NEWUSER)");
      *step = "user namespace";
      return -1;
    }
    waitpid(trial, NULL, 0);
  }
  failed(isolation, error, "clone(CLONE_NEWPID)");
  *step = "PID namespace";
  return -1;
}

static bool map_ids(struct isolation *isolation) {
  if (!isolation->has_user_namespace) return true;
  char map[64];
  // user_namespaces(7): a process without privileges outside may map only its own IDs, and its group only after it has
  // given up setgroups(2).
  if (!write_file(isolation, "/proc/self/setgroups", "deny")) return false;
  snprintf(map, sizeof map, "%u %u 1", isolation->user, isolation->user);
  if (!write_file(isolation, "/proc/self/uid_map", map)) return false;
  snprintf(map, sizeof map, "%u %u 1", isolation->group, isolation->group);
  return write_file(isolation, "/proc/self/gid_map", map);
}

static bool make_network(struct isolation *isolation, int *network, int *route) {
  if (unshare(CLONE_NEWNET)) return failed(isolation, errno, "unshare(CLONE_NEWNET)");
  *network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  if (*network < 0) return failed(isolation, errno, "open /proc/self/ns/net");
  // A netlink socket remains in the namespace in which it was created.
  *route = open_netlink(isolation, NETLINK_ROUTE);
  return *route >= 0 && set_link_up(isolation, *route, "lo");
}

static bool make_networks(struct isolation *isolation) {
  return make_network(isolation, &isolation->network_w, &isolation->route_w) &&
         make_network(isolation, &isolation->network_a, &isolation->route_a);
}

static bool enter(struct isolation *isolation, int network) {
  return !setns(network, CLONE_NEWNET) || failed(isolation, errno, "setns(CLONE_NEWNET)");
}

static bool connect_networks(struct isolation *isolation) {
  int w = isolation->route_w, a = isolation->route_a;
  return add_link_pair(isolation, a, isolation->network_w) && generate_no_address(isolation, a, A_LINK) &&
         set_link_up(isolation, a, A_LINK) &&
         add_address(isolation, a, A_LINK, A_ADDRESS_4, 30) && add_address(isolation, a, A_LINK, A_ADDRESS_6, 64) &&
         enter(isolation, isolation->network_w) && set_link_up(isolation, w, W_LINK) &&
         add_address(isolation, w, W_LINK, W_ADDRESS_4, 30) && add_address(isolation, w, W_LINK, W_ADDRESS_6, 64) &&
         enter(isolation, isolation->network_a);
}

static bool add_routes(struct isolation *isolation) {
  int w = isolation->route_w, a = isolation->route_a;
  return add_route(isolation, w, AF_INET, NULL) && add_route(isolation, w, AF_INET6, NULL) &&
         add_route(isolation, a, AF_INET, W_ADDRESS_4) && add_route(isolation, a, AF_INET6, W_ADDRESS_6);
}

static bool set_option(struct isolation *isolation, int socket, int level, int name, int value, const char *text) {
  return !setsockopt(socket, level, name, &value, sizeof value) || failed(isolation, errno, "setsockopt(%s)", text);
}

// Creates a socket that is bound to every address.
static int open_socket(struct isolation *isolation, int family, int type, unsigned short port, bool is_dual) {
  int socket_ = socket(family, type | SOCK_CLOEXEC, 0);
  if (socket_ < 0) {
    failed(isolation, errno, "socket(%s)", family == AF_INET ? "AF_INET" : "AF_INET6");
    return -1;
  }
  struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  const struct sockaddr *address = family == AF_INET ? (struct sockaddr *)&any4 : (struct sockaddr *)&any6;
  socklen_t size = family == AF_INET ? sizeof any4 : sizeof any6;
  if (family == AF_INET6 && !set_option(isolation, socket_, IPPROTO_IPV6, IPV6_V6ONLY, !is_dual, "IPV6_V6ONLY"))
    return -1;
  if (bind(socket_, address, size)) {
    failed(isolation, errno, "bind(port %d)", port);
    return -1;
  }
  return socket_;
}

static bool open_listener(struct isolation *isolation) {
  if (!enter(isolation, isolation->network_w)) return false;
  int listener = isolation->listener = open_socket(isolation, AF_INET6, SOCK_STREAM, 0, true);
  if (listener < 0) return false;
  // ip(7): with IP_TRANSPARENT, a socket accepts connections to addresses of others, and getsockname(2) on an accepted
  // one is the original destination.
  if (!set_option(isolation, listener, IPPROTO_IP, IP_TRANSPARENT, 1, "IP_TRANSPARENT")) return false;
  if (!set_option(isolation, listener, IPPROTO_IPV6, IPV6_TRANSPARENT, 1, "IPV6_TRANSPARENT")) return false;
  if (listen(listener, 1024)) return failed(isolation, errno, "listen");
  return enter(isolation, isolation->network_a);
}

static bool intercept(struct isolation *isolation) {
  struct sockaddr_in6 address;
  socklen_t size = sizeof address;
  if (getsockname(isolation->listener, (struct sockaddr *)&address, &size))
    return failed(isolation, errno, "getsockname");
  return enter(isolation, isolation->network_w) && intercept_connections(isolation, ntohs(address.sin6_port)) &&
         enter(isolation, isolation->network_a);
}

static bool open_dns(struct isolation *isolation) {
  if (!enter(isolation, isolation->network_w)) return false;
  isolation->dns4 = open_socket(isolation, AF_INET, SOCK_DGRAM, 53, false);
  if (isolation->dns4 < 0) return false;
  isolation->dns6 = open_socket(isolation, AF_INET6, SOCK_DGRAM, 53, false);
  // ip(7), ipv6(7): each datagram comes with the address to which it was sent, from which the answer must come. For
  // IPv6, the kernel refuses a source address that no link has (a local route does not count) without IPV6_FREEBIND.
  return isolation->dns6 >= 0 && set_option(isolation, isolation->dns4, IPPROTO_IP, IP_PKTINFO, 1, "IP_PKTINFO") &&
         set_option(isolation, isolation->dns6, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, "IPV6_RECVPKTINFO") &&
         set_option(isolation, isolation->dns6, IPPROTO_IPV6, IPV6_FREEBIND, 1, "IPV6_FREEBIND") &&
         enter(isolation, isolation->network_a);
}

// ip(7): ports below this number need a capability, which the command of an ordinary user does not have.
//
// tcp(7): the port of a connection that the client has closed can be reused after a second rather than a minute. By
// default, only connections to the same machine may do so; a client that opens a connection for each request would run
// out of ports.
static bool allow_ports(struct isolation *isolation) {
  return write_file(isolation, "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") &&
         write_file(isolation, "/proc/sys/net/ipv4/tcp_tw_reuse", "1");
}

static const struct step namespace_steps[] = {
    {"user namespace", NULL, NULL, FOR_ISOLATION},
    {"PID namespace", "user namespace", NULL, FOR_ISOLATION},
    {"user and group IDs", "PID namespace", map_ids, FOR_ISOLATION},
    {"mount namespace", "user and group IDs", make_mount_namespace, FOR_ISOLATION},
    {"/proc", "mount namespace", mount_proc, FOR_ISOLATION},
    {"network namespaces", "user and group IDs", make_networks, FOR_ISOLATION},
    {"network links", "network namespaces", connect_networks, FOR_ISOLATION},
    {"routes", "network links", add_routes, FOR_ISOLATION},
    {"listener", "network namespaces", open_listener, FOR_ISOLATION},
    {"nftables rule", "listener", intercept, FOR_ISOLATION},
    {"DNS sockets", "network namespaces", open_dns, FOR_ISOLATION},
    // The new /proc can be written even where that of a container is read-only. In the network of the caller, root would
    // change the setting of the machine.
    {"low ports", "network namespaces", allow_ports, FOR_ISOLATION},
    {"bound files", "mount namespace", bind_files, FOR_ISOLATION},
    {"random devices", "/proc", replace_devices, FOR_RANDOM},
    {"vDSO", "/proc", find_vdso, FOR_SUPERVISION},
    {"seccomp notification", "vDSO", try_notification, FOR_SUPERVISION},
    {"process memory", "seccomp notification", write_memory, FOR_SUPERVISION},
};

static const struct step supervision_steps[] = {
    {"loopback sockets", NULL, open_loopback_sockets, FOR_ISOLATION},
    {"vDSO", NULL, find_vdso, FOR_SUPERVISION},
    {"seccomp notification", "loopback sockets", try_notification, FOR_ISOLATION},
    {"connections", "seccomp notification", try_connection, FOR_ISOLATION},
    {"process memory", "vDSO", write_memory, FOR_SUPERVISION},
};

void choose_steps(struct isolation *isolation) {
  bool is_supervised = isolation->request.is_supervised;
  isolation->steps = is_supervised ? supervision_steps : namespace_steps;
  isolation->step_count =
      is_supervised ? sizeof supervision_steps / sizeof *supervision_steps : sizeof namespace_steps / sizeof *namespace_steps;
}
#endif
