// The steps of a supervised network: sockets of the loopback device, to which ClockSupervision leads all connections.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ClockSupervision.h"

// Opens a socket of the loopback device (socket(7), SO_BINDTODEVICE), so that other machines cannot reach it. Negative if
// that fails.
static int open_socket(struct isolation *isolation, int type, in_addr_t address) {
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
  int socket_ = socket(AF_INET, type | SOCK_CLOEXEC, 0);
  if (socket_ < 0) {
    failed(isolation, errno, "socket(AF_INET)");
  } else if (setsockopt(socket_, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo")) {
    failed(isolation, errno, "setsockopt(SO_BINDTODEVICE)");
  } else if (bind(socket_, (struct sockaddr *)&any, sizeof any)) {
    failed(isolation, errno, "bind");
  } else {
    return socket_;
  }
  if (socket_ >= 0) close(socket_);
  return -1;
}

bool open_loopback_sockets(struct isolation *isolation) {
  char error[DIORAMA_CLOCK_ERROR];
  int on = 1;
  isolation->listener = open_socket(isolation, SOCK_STREAM, INADDR_ANY);
  if (isolation->listener < 0) return false;
  if (listen(isolation->listener, 4096)) return failed(isolation, errno, "listen");
  isolation->dns4 = open_socket(isolation, SOCK_DGRAM, INADDR_LOOPBACK);
  if (isolation->dns4 < 0) return false;
  if (setsockopt(isolation->dns4, IPPROTO_IP, IP_PKTINFO, &on, sizeof on))
    return failed(isolation, errno, "setsockopt(IP_PKTINFO)");
  isolation->table = diorama_connections_create(error);
  return isolation->table >= 0 || failed_by(isolation, errno, error);
}

static uint16_t port_of(int socket_) {
  struct sockaddr_in address = {0};
  socklen_t size = sizeof address;
  getsockname(socket_, (struct sockaddr *)&address, &size);
  return ntohs(address.sin_port);
}

bool supervise_network(struct isolation *isolation) {
  char error[DIORAMA_CLOCK_ERROR];
  struct diorama_network network = {
    .listener_port = port_of(isolation->listener), .dns_port = port_of(isolation->dns4), .table = isolation->table,
    .ports = isolation->request.ports, .port_count = isolation->request.port_count,
  };
  if (!isolation->supervisor && !make_supervisor(isolation, -1, error)) return failed_by(isolation, ENOTSUP, error);
  return !diorama_clock_supervisor_network(isolation->supervisor, &network, error) || failed_by(isolation, ENOTSUP, error);
}

// RFC 5737: an address for documentation.
static struct sockaddr_in elsewhere(void) {
  return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201), .sin_port = htons(80)};
}

void connect_elsewhere(struct isolation *isolation, int status) {
  (void)isolation;
  char byte;
  struct sockaddr_in address = elsewhere();
  int socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int error = socket_ < 0 || connect(socket_, (struct sockaddr *)&address, sizeof address) ? errno : 0;
  send(status, &error, sizeof error, MSG_NOSIGNAL);
  // For the steps that follow.
  recv(status, &byte, 1, 0);
}

bool try_connection(struct isolation *isolation) {
  int error = EIO;
  while (true) {
    struct pollfd sources[] = {{.fd = isolation->trial_status, .events = POLLIN}, {.fd = isolation->notifications, .events = POLLIN}};
    if (poll(sources, 2, -1) < 0) continue;
    if (sources[0].revents) break;
    if (sources[1].revents & POLLIN) answer_notification(isolation);
    else if (sources[1].revents) break;
  }
  if (recv(isolation->trial_status, &error, sizeof error, MSG_DONTWAIT) != sizeof error)
    return failed(isolation, EIO, "connect of a supervised process");
  if (error) return failed(isolation, error, "connect of a supervised process");
  // Its destination has to be the one that the process has asked for.
  struct sockaddr_in wanted = elsewhere();
  char text[DIORAMA_CLOCK_ERROR];
  struct diorama_connection connection = {0};
  struct pollfd source = {.fd = isolation->listener, .events = POLLIN};
  int accepted = poll(&source, 1, 1000) > 0 ? accept(isolation->listener, NULL, NULL) : -1;
  if (accepted < 0) return failed(isolation, ETIMEDOUT, "accept of a supervised connection");
  struct diorama_connection *table = diorama_connections_map(isolation->table, text);
  bool is_known = table && diorama_connections_take(table, accepted, &connection)
    && connection.port == ntohs(wanted.sin_port) && !memcmp(connection.address, &wanted.sin_addr, sizeof wanted.sin_addr);
  if (table) munmap(table, DIORAMA_CONNECTIONS * sizeof *table);
  close(accepted);
  return is_known || failed(isolation, EIO, "destination of a supervised connection");
}
#endif
