#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "local_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct local_socket *place(struct local_socket *sockets, size_t room, uint64_t inode) {
  size_t at = (size_t)(inode * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (room - 1);
  while (sockets[at].inode && sockets[at].inode != inode) at = (at + 1) & (room - 1);
  return &sockets[at];
}

bool local_sockets_add(struct local_sockets *sockets, uint64_t inode, int family, int type) {
  if (2 * sockets->count >= sockets->room) {
    size_t room = sockets->room ? 2 * sockets->room : 256;
    struct local_socket *moved = calloc(room, sizeof *moved);
    if (!moved) return false;
    for (size_t i = 0; i < sockets->room; i++)
      if (sockets->sockets[i].inode) *place(moved, room, sockets->sockets[i].inode) = sockets->sockets[i];
    free(sockets->sockets);
    sockets->sockets = moved;
    sockets->room = room;
  }
  struct local_socket *found = place(sockets->sockets, sockets->room, inode);
  if (!found->inode) sockets->count++;
  *found = (struct local_socket){inode, (unsigned char)family, (unsigned char)type, false};
  return true;
}

struct local_socket *local_sockets_find(const struct local_sockets *sockets, uint64_t inode) {
  if (!sockets->count) return NULL;
  struct local_socket *found = place(sockets->sockets, sockets->room, inode);
  return found->inode ? found : NULL;
}

// Asks the kernel for the socket that would receive a connection (sock_diag(7)), which takes microseconds; /proc/net/tcp takes
// a millisecond. Returns its inode; 0 if there is none.
static uint64_t find_listener(int netlink, const struct in6_addr *address, uint16_t port) {
  bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
  struct {
    struct nlmsghdr header;
    struct inet_diag_req_v2 content;
  } request = {
    .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
    .content = {
      .sdiag_family = is_v4 ? AF_INET : AF_INET6, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u,
      .id = {
        .idiag_sport = htons(port), .idiag_if = if_nametoindex("lo"), .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE},
      },
    },
  };
  memcpy(request.content.id.idiag_src, address->s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
  memcpy(request.content.id.idiag_dst, address->s6_addr + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
  if (send(netlink, &request, sizeof request, 0) != sizeof request) return 0;
  union {
    struct nlmsghdr header;
    char room[8192];
  } reply;
  ssize_t length;
  do length = recv(netlink, &reply, sizeof reply, 0); while (length < 0 && errno == EINTR);
  const struct inet_diag_msg *found = NLMSG_DATA(&reply.header);
  bool is_found = length >= (ssize_t)NLMSG_LENGTH(sizeof *found) && reply.header.nlmsg_type == SOCK_DIAG_BY_FAMILY;
  // 10 is TCP_LISTEN.
  return is_found && found->idiag_state == 10 ? found->idiag_inode : 0;
}

void local_sockets_create(struct local_sockets *sockets, uint16_t port) {
  static const struct in6_addr here = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}}};
  *sockets = (struct local_sockets){.diagnosis = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  if (sockets->diagnosis < 0 || find_listener(sockets->diagnosis, &here, port)) return;
  close(sockets->diagnosis);
  sockets->diagnosis = -1;
}

void local_sockets_free(struct local_sockets *sockets) {
  if (sockets->diagnosis >= 0) close(sockets->diagnosis);
  free(sockets->sockets);
  *sockets = (struct local_sockets){.diagnosis = -1};
}

// Whether an address belongs to this machine: bind(2) fails with EADDRNOTAVAIL for others. It permits broadcast addresses,
// too, for which connect(2) fails with EACCES (ip(7), SO_BROADCAST).
static bool is_local(const struct in6_addr *address) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = *address};
  struct sockaddr_in four = {.sin_family = AF_INET};
  memcpy(&four.sin_addr, address->s6_addr + 12, 4);
  bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
  int trial = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (trial < 0) return false;
  const struct sockaddr *its = is_v4 ? (struct sockaddr *)&four : (struct sockaddr *)&six;
  socklen_t length = is_v4 ? sizeof four : sizeof six;
  bool is_ours = !bind(trial, its, length);
  // Sends nothing.
  four.sin_port = six.sin6_port = htons(9);
  is_ours = is_ours && !connect(trial, its, length);
  close(trial);
  return is_ours;
}

// How specific a socket's local address is for a destination, as the kernel chooses among several: the same address before
// any address. 0 if it is another one.
static int score(const struct in6_addr *local, const struct in6_addr *destination, bool is_v6_socket) {
  static const struct in6_addr any4 = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0}}};
  if (!memcmp(local, destination, sizeof *local)) return 2;
  // A socket that is bound to :: receives IPv4, too, unless it has IPV6_V6ONLY, which is not visible here.
  if (is_v6_socket) return IN6_IS_ADDR_UNSPECIFIED(local);
  return IN6_IS_ADDR_V4MAPPED(destination) && !memcmp(local, &any4, sizeof any4);
}

// Reads the sockets of a file of proc(5) that have a port. Sets `best` to the highest score of any socket, and `own` to
// that of these sockets.
static void search(
  const struct local_sockets *sockets, const char *path, bool is_v6, bool only_listening, const struct in6_addr *destination,
  uint16_t port, int *best, int *own) {
  FILE *file = fopen(path, "re");
  if (!file) return;
  char line[512];
  while (fgets(line, sizeof line, file)) {
    // Each group of digits is a 32-bit number in the byte order of the machine.
    char digits[33];
    unsigned local_port, state;
    uint64_t inode;
    if (sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*d %" SCNu64, digits, &local_port, &state, &inode) != 4)
      continue;
    // The kernel lists those that listen first. 10 is TCP_LISTEN.
    if (only_listening && state != 10) break;
    if (local_port != port) continue;
    struct in6_addr local = {0};
    uint32_t words[4] = {0, 0, htonl(0xffff), 0};
    for (int i = 0; i < (is_v6 ? 4 : 1); i++) {
      char group[9] = {0};
      memcpy(group, digits + 8 * i, 8);
      words[is_v6 ? i : 3] = (uint32_t)strtoul(group, NULL, 16);
    }
    memcpy(&local, words, sizeof local);
    int its = score(&local, destination, is_v6);
    if (its > *best) *best = its;
    if (its > *own && local_sockets_find(sockets, inode)) *own = its;
  }
  fclose(file);
}

bool local_sockets_receive(
  const struct local_sockets *sockets, int type, const struct in6_addr *address, uint16_t port) {
  if (!sockets->count) return false;
  int best = 0, own = 0;
  bool is_stream = type == SOCK_STREAM;
  // ip(7): 0.0.0.0 and :: as a destination mean this machine.
  struct in6_addr destination = *address;
  if (IN6_IS_ADDR_UNSPECIFIED(address)) destination = in6addr_loopback;
  if (IN6_IS_ADDR_V4MAPPED(address) && !memcmp(address->s6_addr + 12, "\0\0\0", 4)) {
    destination.s6_addr[12] = 127;
    destination.s6_addr[15] = 1;
  }
  bool is_loopback = IN6_IS_ADDR_V4MAPPED(&destination) ? destination.s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(&destination);
  if (!is_loopback && !is_local(&destination)) return false;
  if (is_stream && sockets->diagnosis >= 0) {
    uint64_t inode = find_listener(sockets->diagnosis, &destination, port);
    return inode && local_sockets_find(sockets, inode);
  }
  search(sockets, is_stream ? "/proc/net/tcp" : "/proc/net/udp", false, is_stream, &destination, port, &best, &own);
  search(sockets, is_stream ? "/proc/net/tcp6" : "/proc/net/udp6", true, is_stream, &destination, port, &best, &own);
  return own && own == best;
}
#endif
