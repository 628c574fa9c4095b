#pragma once
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The sockets that were made for supervised programs, by their inodes.

struct local_socket {
  uint64_t inode;
  unsigned char family, type;
  // Whether it was made to be connected in place of the program's.
  bool is_connecting;
};

struct local_sockets {
  // A hash table with linear probing; an inode of 0 is an empty place.
  struct local_socket *sockets;
  size_t count, room;
  // A netlink socket that finds listening sockets; negative where the kernel does not have that.
  int diagnosis;
};

/// Prepares an empty table. `port` is one on which this process listens at 127.0.0.1.
void local_sockets_create(struct local_sockets *sockets, uint16_t port);

/// Adds a socket. Returns false if there is no memory.
bool local_sockets_add(struct local_sockets *sockets, uint64_t inode, int family, int type);
/// Returns NULL for a socket that was not added.
struct local_socket *local_sockets_find(const struct local_sockets *sockets, uint64_t inode);
void local_sockets_free(struct local_sockets *sockets);

/// Whether what is sent to an address of this machine reaches one of these sockets: a listening one for SOCK_STREAM, or a
/// bound one for SOCK_DGRAM. IPv4 addresses are mapped ones, ports are in host byte order.
bool local_sockets_receive(
  const struct local_sockets *sockets, int type, const struct in6_addr *address, uint16_t port);
