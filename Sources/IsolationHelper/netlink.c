// Links, addresses and routes: rtnetlink(7) over netlink(7).
#include "helper.h"
#if defined(__linux__)
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The maximum of a veth: larger packets cost less processor time for each byte.
static const uint32_t MTU = 65535;

static void append(struct messages *messages, const void *data, size_t size) {
  size_t padded = NLMSG_ALIGN(size);
  // All messages have constant sizes; this is a defect, not a condition.
  if (messages->length + padded > sizeof messages->bytes) abort();
  memset(messages->bytes + messages->length, 0, padded);
  if (size) memcpy(messages->bytes + messages->length, data, size);
  messages->length += padded;
  struct nlmsghdr *header = (struct nlmsghdr *)(messages->bytes + messages->start);
  header->nlmsg_len = (uint32_t)(messages->length - messages->start);
}

void begin_message(struct messages *messages, int type, int flags, const void *header, size_t size) {
  messages->start = messages->length;
  struct nlmsghdr first = {.nlmsg_type = (uint16_t)type, .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)};
  if (flags & NLM_F_ACK) messages->acknowledged++;
  append(messages, &first, sizeof first);
  append(messages, header, size);
}

void add_attribute(struct messages *messages, int type, const void *data, size_t size) {
  struct nlattr header = {.nla_type = (uint16_t)type, .nla_len = (uint16_t)(NLA_HDRLEN + size)};
  append(messages, &header, sizeof header);
  append(messages, data, size);
}

size_t begin_nested(struct messages *messages, int type) {
  size_t start = messages->length;
  struct nlattr header = {.nla_type = (uint16_t)(type | NLA_F_NESTED)};
  append(messages, &header, sizeof header);
  return start;
}

void end_nested(struct messages *messages, size_t start) {
  struct nlattr *header = (struct nlattr *)(messages->bytes + start);
  header->nla_len = (uint16_t)(messages->length - start);
}

int open_netlink(struct isolation *isolation, int protocol) {
  int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (netlink < 0) failed(isolation, errno, "socket(AF_NETLINK, %d)", protocol);
  return netlink;
}

bool send_messages(struct isolation *isolation, int netlink, struct messages *messages, const char *what) {
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  if (sendto(netlink, messages->bytes, messages->length, 0, (struct sockaddr *)&kernel, sizeof kernel) < 0)
    return failed(isolation, errno, "netlink: %s", what);
  int left = messages->acknowledged;
  // The kernel handles messages within sendto(2), so all answers are there; waiting for a missing one would never end.
  while (left > 0) {
    _Alignas(8) unsigned char bytes[8192];
    ssize_t length = recv(netlink, bytes, sizeof bytes, MSG_DONTWAIT);
    if (length < 0) return failed(isolation, errno, "netlink: %s: answer", what);
    struct nlmsghdr *header = (struct nlmsghdr *)bytes;
    for (size_t rest = (size_t)length; NLMSG_OK(header, rest); header = NLMSG_NEXT(header, rest)) {
      if (header->nlmsg_type != NLMSG_ERROR) continue;
      // netlink(7): an acknowledgement is an error of 0; others are negative errno values.
      struct nlmsgerr *answer = NLMSG_DATA(header);
      if (answer->error) return failed(isolation, -answer->error, "netlink: %s", what);
      left--;
    }
  }
  return true;
}

bool set_link_up(struct isolation *isolation, int netlink, const char *name) {
  struct messages messages = {0};
  struct ifinfomsg info = {.ifi_flags = IFF_UP, .ifi_change = IFF_UP};
  begin_message(&messages, RTM_NEWLINK, NLM_F_ACK, &info, sizeof info);
  add_attribute(&messages, IFLA_IFNAME, name, strlen(name) + 1);
  return send_messages(isolation, netlink, &messages, "RTM_NEWLINK: set a link up");
}

bool generate_no_address(struct isolation *isolation, int netlink, const char *name) {
  struct messages messages = {0};
  struct ifinfomsg info = {0};
  uint8_t mode = IN6_ADDR_GEN_MODE_NONE;
  begin_message(&messages, RTM_NEWLINK, NLM_F_ACK, &info, sizeof info);
  add_attribute(&messages, IFLA_IFNAME, name, strlen(name) + 1);
  size_t families = begin_nested(&messages, IFLA_AF_SPEC);
  size_t family = begin_nested(&messages, AF_INET6);
  add_attribute(&messages, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof mode);
  end_nested(&messages, family);
  end_nested(&messages, families);
  return send_messages(isolation, netlink, &messages, "RTM_NEWLINK: generate no IPv6 address");
}

bool add_link_pair(struct isolation *isolation, int netlink, int peer_namespace) {
  struct messages messages = {0};
  struct ifinfomsg info = {0};
  begin_message(&messages, RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &info, sizeof info);
  add_attribute(&messages, IFLA_IFNAME, A_LINK, sizeof A_LINK);
  add_attribute(&messages, IFLA_MTU, &MTU, sizeof MTU);
  // Always the same, since UUIDs of version 1 contain it (RFC 9562). Locally administered, in a network with one peer.
  static const unsigned char address[] = {0x02, 0x64, 0x69, 0x6f, 0x00, 0x01};
  add_attribute(&messages, IFLA_ADDRESS, address, sizeof address);
  size_t link = begin_nested(&messages, IFLA_LINKINFO);
  add_attribute(&messages, IFLA_INFO_KIND, "veth", sizeof "veth");
  size_t data = begin_nested(&messages, IFLA_INFO_DATA);
  size_t peer = begin_nested(&messages, VETH_INFO_PEER);
  append(&messages, &info, sizeof info);
  add_attribute(&messages, IFLA_IFNAME, W_LINK, sizeof W_LINK);
  add_attribute(&messages, IFLA_NET_NS_FD, &peer_namespace, sizeof peer_namespace);
  add_attribute(&messages, IFLA_MTU, &MTU, sizeof MTU);
  end_nested(&messages, peer);
  end_nested(&messages, data);
  end_nested(&messages, link);
  return send_messages(isolation, netlink, &messages, "RTM_NEWLINK: create a veth pair");
}

// Reads an address. The result is its size in bytes.
static size_t parse(const char *text, unsigned char *bytes) {
  return inet_pton(AF_INET, text, bytes) == 1 ? 4 : inet_pton(AF_INET6, text, bytes) == 1 ? 16 : 0;
}

bool add_address(struct isolation *isolation, int netlink, const char *link, const char *address, int prefix) {
  unsigned char bytes[16];
  size_t size = parse(address, bytes);
  // By name, in the namespace of this thread: other drivers may have added links to the namespace, so the index varies.
  unsigned index = if_nametoindex(link);
  if (!index) return failed(isolation, errno, "if_nametoindex(%s)", link);
  struct ifaddrmsg info = {
      .ifa_family = size == 4 ? AF_INET : AF_INET6,
      .ifa_prefixlen = (uint8_t)prefix,
      // Without duplicate address detection (RFC 4862), which would delay the first connection by a second.
      .ifa_flags = IFA_F_NODAD,
      .ifa_index = index,
  };
  struct messages messages = {0};
  begin_message(&messages, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &info, sizeof info);
  add_attribute(&messages, IFA_LOCAL, bytes, size);
  add_attribute(&messages, IFA_ADDRESS, bytes, size);
  return send_messages(isolation, netlink, &messages, size == 4 ? "RTM_NEWADDR: IPv4" : "RTM_NEWADDR: IPv6");
}

bool add_route(struct isolation *isolation, int netlink, int family, const char *gateway) {
  // The local route is in table main: in table local, IPv6 connections time out.
  struct rtmsg info = {
      .rtm_family = (unsigned char)family,
      .rtm_table = RT_TABLE_MAIN,
      .rtm_protocol = RTPROT_BOOT,
      .rtm_scope = gateway ? RT_SCOPE_UNIVERSE : RT_SCOPE_HOST,
      .rtm_type = gateway ? RTN_UNICAST : RTN_LOCAL,
  };
  struct messages messages = {0};
  begin_message(&messages, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &info, sizeof info);
  if (gateway) {
    unsigned char bytes[16];
    size_t size = parse(gateway, bytes);
    add_attribute(&messages, RTA_GATEWAY, bytes, size);
  } else {
    // lo has index 1 in every network namespace.
    uint32_t loopback = 1;
    add_attribute(&messages, RTA_OIF, &loopback, sizeof loopback);
  }
  return send_messages(isolation, netlink, &messages,
                       gateway ? "RTM_NEWROUTE: default route" : "RTM_NEWROUTE: local route for all addresses");
}
#endif
