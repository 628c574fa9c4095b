#pragma once
#if defined(__linux__)
#include <stdbool.h>
#include <stdint.h>

// The original destinations of connections, in memory that the supervisor writes and the server reads.
//
// The supervisor connects a socket to the server in place of its destination. The address to which it connects has the
// number of the connection: 127.64.0.0 plus the number, which the server gets from getsockname(2). Numbers are used again
// only after four million connections, so that a destination cannot be mixed up, as it could be with source ports.

/// The number of a connection has this many bits; 0 is not used.
#define DIORAMA_CONNECTION_BITS 22
/// 127.64.0.0, in host byte order.
#define DIORAMA_CONNECTION_NETWORK UINT32_C(0x7f400000)
/// How many connections a table holds: the last ones.
#define DIORAMA_CONNECTIONS 65536

struct diorama_connection {
  /// 0 for an unused entry.
  uint32_t number;
  /// Whether the server has taken it.
  uint32_t is_taken;
  /// In network byte order: the first 4 bytes of IPv4 addresses, or 16 bytes.
  unsigned char address[16];
  /// In host byte order.
  uint16_t port;
  uint16_t is_v6;
  /// Where the connection comes from: an IPv4 address in network byte order, and a port in host byte order, which is 0 until
  /// the socket is connected.
  uint32_t source_address;
  uint32_t source_port;
};

/// Makes a table. Returns its descriptor, a memfd that is closed on exec.
int diorama_connections_create(char *error);

/// Maps a table. munmap(2) with DIORAMA_CONNECTIONS * sizeof (struct diorama_connection) frees it.
struct diorama_connection *diorama_connections_map(int table, char *error);

/// Finds the entry of an accepted connection, by its local address. The result is false if no supervised program has made the
/// connection, or it was taken before.
bool diorama_connections_take(struct diorama_connection *table, int accepted, struct diorama_connection *connection);
#endif
