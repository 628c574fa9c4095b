#pragma once
// Functions missing from Swift's Glibc module.
#if defined(__linux__)
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// Sets the calling thread's name, as shown by `top -H`; at most 15 bytes.
static inline void diorama_name_this_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

// Whether the peer of a stream socket has closed at least its sending side, even if unread bytes are left. (POLLRDHUP
// needs _GNU_SOURCE.)
static inline int diorama_peer_has_left(int descriptor) {
  struct pollfd state = {descriptor, 0x2000, 0};
  return poll(&state, 1, 0) > 0;
}

// The address that a datagram was sent to: of IPv4 in the last 4 bytes, of IPv6 in all 16.
struct diorama_local_address {
  // IPPROTO_IP (which is 0), IPPROTO_IPV6; -1 if unknown.
  int level;
  unsigned char bytes[16];
};

// Receives a datagram with the address it was sent to, on a socket with IP_PKTINFO or IPV6_RECVPKTINFO (ip(7), ipv6(7)).
// Returns its size; -1 with errno.
static inline ssize_t diorama_receive_datagram(
  int descriptor, void *buffer, size_t size, struct sockaddr_storage *peer, socklen_t *peer_length,
  struct diorama_local_address *local) {
  _Alignas(struct cmsghdr) unsigned char control[128];
  struct iovec part = {buffer, size};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  message.msg_name = peer;
  message.msg_namelen = sizeof *peer;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t count = recvmsg(descriptor, &message, MSG_DONTWAIT);
  if (count < 0) return count;
  *peer_length = message.msg_namelen;
  memset(local, 0, sizeof *local);
  local->level = -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    // struct in_pktinfo: interface, local address, destination of the header.
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
      local->level = IPPROTO_IP;
      memcpy(local->bytes + 12, CMSG_DATA(header) + 8, 4);
    }
    // struct in6_pktinfo: destination, interface.
    if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
      local->level = IPPROTO_IPV6;
      memcpy(local->bytes, CMSG_DATA(header), 16);
    }
  }
  return count;
}

// Sends a datagram from an address that diorama_receive_datagram returned. Returns its size; -1 with errno.
static inline ssize_t diorama_send_datagram(
  int descriptor, const void *buffer, size_t size, const struct sockaddr_storage *peer, socklen_t peer_length,
  const struct diorama_local_address *local) {
  _Alignas(struct cmsghdr) unsigned char control[CMSG_SPACE(20)];
  struct iovec part = {(void *)buffer, size};
  struct msghdr message;
  memset(&message, 0, sizeof message);
  memset(control, 0, sizeof control);
  message.msg_name = (void *)peer;
  message.msg_namelen = peer_length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (local->level >= 0) {
    int is_ip4 = local->level == IPPROTO_IP;
    struct cmsghdr *header = (struct cmsghdr *)control;
    header->cmsg_level = local->level;
    header->cmsg_type = is_ip4 ? IP_PKTINFO : IPV6_PKTINFO;
    header->cmsg_len = CMSG_LEN(is_ip4 ? 12 : 20);
    // The interface stays 0, so that the route decides; the source of IPv4 is the second member.
    if (is_ip4) memcpy(CMSG_DATA(header) + 4, local->bytes + 12, 4);
    else memcpy(CMSG_DATA(header), local->bytes, 16);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(is_ip4 ? 12 : 20);
  }
  return sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
#endif
