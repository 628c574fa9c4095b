#pragma once
// Static inline functions for what Swift cannot import: libmicrohttpd's variadic functions, and Linux calls that the C
// library hides from Swift or declares only with _GNU_SOURCE, which breaks debug builds (hence the `extern`
// declarations).
#if !__has_include(<microhttpd.h>)
#error "libmicrohttpd is missing. Debian, Ubuntu: apt-get install libmicrohttpd-dev. Homebrew: brew install libmicrohttpd"
#endif
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

extern int accept4(int descriptor, struct sockaddr *address, socklen_t *length, int flags);

// ---- libmicrohttpd

typedef void *(*diorama_target_callback)(void *context, const char *target, struct MHD_Connection *connection);

// A daemon with an epoll set, without a thread and a listening socket; NULL if it cannot start.
// The manual: "MHD_USE_NO_LISTEN_SOCKET: run without a listen socket. This option is intended to be used with
// MHD_add_connection", "MHD_USE_SUPPRESS_DATE_NO_CLOCK: suppress the automatically added Date header", and
// "MHD_OPTION_SIGPIPE_HANDLED_BY_APP: … the application … blocks or ignores SIGPIPE", which the loop's threads do.
static inline struct MHD_Daemon *diorama_daemon_start(
  MHD_AccessHandlerCallback handler, MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback notify,
  diorama_target_callback target, void *context, unsigned int connections, size_t pool, unsigned int idle_seconds) {
  return MHD_start_daemon(
    MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE
      | MHD_USE_SUPPRESS_DATE_NO_CLOCK,
    0, NULL, NULL, handler, context,
    MHD_OPTION_CONNECTION_LIMIT, connections,
    MHD_OPTION_CONNECTION_MEMORY_LIMIT, pool,
    MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
    MHD_OPTION_NOTIFY_COMPLETED, completed, context,
    MHD_OPTION_NOTIFY_CONNECTION, notify, context,
    MHD_OPTION_URI_LOG_CALLBACK, target, context,
    MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
    MHD_OPTION_END);
}

// The epoll descriptor to wait for before MHD_run, or -1.
static inline int diorama_daemon_epoll(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

// The descriptor, or -1.
static inline int diorama_connection_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

// The value that the notify callback stored in *socket_context.
static inline void *diorama_connection_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

// The value of the first header field with this name.
static inline enum MHD_Result diorama_connection_field(
  struct MHD_Connection *connection, const char *name, size_t name_length, const char **value, size_t *length) {
  return MHD_lookup_connection_value_n(connection, MHD_HEADER_KIND, name, name_length, value, length);
}

// Calls back for each header field and returns the number of fields. Without a callback, it only counts.
static inline int diorama_connection_fields(
  struct MHD_Connection *connection, MHD_KeyValueIteratorN callback, void *context) {
  return MHD_get_connection_values_n(connection, MHD_HEADER_KIND, callback, context);
}

// The fault of a request head that libmicrohttpd 0.9.75 has accepted.
enum diorama_head_fault {
  DIORAMA_HEAD_SOUND,
  DIORAMA_FIELD_FOLDED,
  DIORAMA_FIELD_NAME_INVALID,
  DIORAMA_FIELD_VALUE_INVALID,
  DIORAMA_LENGTH_REPEATED,
  DIORAMA_CODING_REPEATED,
  DIORAMA_LENGTH_AND_CODING,
  DIORAMA_HOST_REPEATED,
  DIORAMA_HOST_INVALID,
  DIORAMA_HOST_MISSING,
};

struct diorama_head_check {
  enum diorama_head_fault fault;
  // After the last value, or the request line.
  const char *end;
  // The bytes of a line end, as in the request line: CR LF, or LF alone. libmicrohttpd has replaced them with NUL.
  int line_end;
  int lengths, codings, hosts, is_host_valid;
};

// Flags of a byte: it may be in a token (RFC 9110, 5.6.2); another parser could take it for the end of a host or a port
// (RFC 9110, 7.2).
enum { DIORAMA_BYTE_OF_TOKEN = 1, DIORAMA_BYTE_NOT_OF_HOST = 2 };
static const unsigned char diorama_byte_kinds[256] = {
  // Control characters, the space and DEL may be in neither a token nor a host.
  2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
  ['!'] = 1, ['"'] = 2, ['#'] = 3, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1, [','] = 2,
  ['-'] = 1, ['.'] = 1, ['/'] = 2, ['0'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ['<'] = 2, ['>'] = 2, ['?'] = 2, ['@'] = 2,
  ['A'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  ['\\'] = 2, ['^'] = 3, ['_'] = 1, ['`'] = 3,
  ['a'] = 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
  ['{'] = 2, ['|'] = 3, ['}'] = 2, ['~'] = 1, [0x7F] = 2,
};

static inline int diorama_is_name(const char *name, size_t length, const char *expected) {
  return length == strlen(expected) && strncasecmp(name, expected, length) == 0;
}

static inline enum MHD_Result diorama_check_field(
  void *context, enum MHD_ValueKind kind, const char *name, size_t name_length, const char *value, size_t length) {
  (void)kind;
  struct diorama_head_check *check = context;
  // libmicrohttpd appends a folded line (RFC 9112, 5.2) to the field's name instead of its value: `X: one`, ` two`
  // becomes `Xtwo: one`. It copies the name to memory allocated later, so the name follows the value, which it otherwise
  // precedes.
  if (value && name > value) {
    check->fault = DIORAMA_FIELD_FOLDED;
    return MHD_NO;
  }
  int is_token = name_length > 0;
  for (size_t index = 0; index < name_length; index++) {
    if (!(diorama_byte_kinds[(unsigned char)name[index]] & DIORAMA_BYTE_OF_TOKEN)) is_token = 0;
  }
  if (!is_token) {
    check->fault = DIORAMA_FIELD_NAME_INVALID;
    return MHD_NO;
  }
  // libmicrohttpd ends a value at its first NUL. Anything but a line end between it and the next name means that a NUL
  // was sent.
  if (check->line_end == 0) check->line_end = name - check->end == 1 ? 1 : 2;
  if (name - check->end != check->line_end || (value && memchr(value, '\r', length))) {
    check->fault = DIORAMA_FIELD_VALUE_INVALID;
    return MHD_NO;
  }
  check->end = value ? value + length : name + name_length;
  check->lengths += diorama_is_name(name, name_length, "Content-Length");
  check->codings += diorama_is_name(name, name_length, "Transfer-Encoding");
  if (diorama_is_name(name, name_length, "Host")) {
    check->hosts++;
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) length--;
    check->is_host_valid = length > 0;
    // uri-host and port (RFC 9110, 7.2), without a character that another parser could treat as the end of either.
    for (size_t index = 0; index < length; index++) {
      if (diorama_byte_kinds[(unsigned char)value[index]] & DIORAMA_BYTE_NOT_OF_HOST) check->is_host_valid = 0;
    }
    const char *port = length ? memchr(value, ':', length) : NULL;
    if (port && value[0] != '[' && strspn(port + 1, "0123456789") < (size_t)(value + length - port - 1))
      check->is_host_valid = 0;
  }
  return MHD_YES;
}

// Checks all header fields in one pass. `method` is the request's first byte, `version` the last part of the request line.
static inline enum diorama_head_fault diorama_connection_head_fault(
  struct MHD_Connection *connection, const char *method, const char *version) {
  struct diorama_head_check check = {DIORAMA_HEAD_SOUND, version + strlen(version), 0, 0, 0, 0, 0};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, diorama_check_field, &check);
  if (check.fault != DIORAMA_HEAD_SOUND) return check.fault;
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  // The last value is followed by its line end and the empty line.
  if (check.line_end && info && method + info->header_size - check.end != 2 * check.line_end)
    return DIORAMA_FIELD_VALUE_INVALID;
  if (check.lengths > 1) return DIORAMA_LENGTH_REPEATED;
  if (check.codings > 1) return DIORAMA_CODING_REPEATED;
  if (check.lengths && check.codings) return DIORAMA_LENGTH_AND_CODING;
  if (check.hosts > 1) return DIORAMA_HOST_REPEATED;
  if (check.hosts == 1 && !check.is_host_valid) return DIORAMA_HOST_INVALID;
  if (check.hosts == 0 && strcmp(version, "HTTP/1.0") != 0) return DIORAMA_HOST_MISSING;
  return DIORAMA_HEAD_SOUND;
}

// Closes the connection after its next response, with `Connection: close`. libmicrohttpd decides this from the request's
// fields, so one is added to them.
static inline enum MHD_Result diorama_connection_close_after_answer(struct MHD_Connection *connection) {
  return MHD_set_connection_value_n(connection, MHD_HEADER_KIND, "Connection", 10, "close", 5);
}

// The size of the request head in bytes, from the method to the empty line.
static inline size_t diorama_connection_head_size(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return info ? info->header_size : 0;
}

// Closes the connection after this response, with `Connection: close`, even on HTTP/1.1.
static inline enum MHD_Result diorama_response_closes(struct MHD_Response *response) {
  return MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

// Returns an upgraded connection to libmicrohttpd, which closes its socket. The manual: "the application must not
// close() sock directly".
static inline enum MHD_Result diorama_upgrade_close(struct MHD_UpgradeResponseHandle *handle) {
  return MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

// Header constants as integers: Swift imports neither macros with casts nor these enumerations under recognisable names.
static inline ssize_t diorama_reader_end(void) { return MHD_CONTENT_READER_END_OF_STREAM; }
static inline ssize_t diorama_reader_error(void) { return MHD_CONTENT_READER_END_WITH_ERROR; }
static inline int diorama_is_complete(enum MHD_RequestTerminationCode code) {
  return code == MHD_REQUEST_TERMINATED_COMPLETED_OK;
}
static inline int diorama_is_start(enum MHD_ConnectionNotificationCode code) {
  return code == MHD_CONNECTION_NOTIFY_STARTED;
}
static inline uint64_t diorama_size_unknown(void) { return MHD_SIZE_UNKNOWN; }

// ---- Linux

// Adds a descriptor to an epoll set; its events carry `token`.
static inline int diorama_epoll_add(int epoll, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = events;
  event.data.u64 = token;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static inline int diorama_epoll_change(int epoll, int descriptor, uint32_t events, uint64_t token) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  event.events = events;
  event.data.u64 = token;
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

static inline int diorama_epoll_remove(int epoll, int descriptor) {
  struct epoll_event event;
  memset(&event, 0, sizeof event);
  return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event);
}

// Waits; fills `tokens` and `events` in parallel. Returns the count, or -1.
static inline int diorama_epoll_wait(int epoll, uint64_t *tokens, uint32_t *events, int most, int milliseconds) {
  struct epoll_event found[64];
  if (most > 64) most = 64;
  int count = epoll_wait(epoll, found, most, milliseconds);
  for (int index = 0; index < count; index++) {
    tokens[index] = found[index].data.u64;
    events[index] = found[index].events;
  }
  return count;
}

static const uint32_t diorama_epoll_in = EPOLLIN;
// The peer has closed at least its sending side; reported once per change.
static const uint32_t diorama_epoll_peer_left = EPOLLRDHUP | EPOLLET;
// These are reported even if not requested.
static const uint32_t diorama_epoll_has_left = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

// Sets the calling thread's name, as shown by `top -H`; at most 15 bytes.
static inline void diorama_name_thread(const char *name) { prctl(PR_SET_NAME, (unsigned long)name, 0, 0, 0); }

static inline int diorama_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int diorama_eventfd_create(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// Milliseconds since the peer last sent data; -1 if unknown.
static inline int64_t diorama_milliseconds_since_data(int descriptor) {
  struct tcp_info info;
  socklen_t length = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return -1;
  return info.tcpi_last_data_recv;
}

// The number of unread bytes in a socket's receive buffer; 0 if unknown.
static inline int diorama_unread(int descriptor) {
  int count = 0;
  return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}

// A number that changes when a socket's bytes arrive, are read, or are sent. For TCP, it uses the kernel's counters
// (linux/tcp.h, `tcpi_bytes_acked` and `tcpi_bytes_received`, missing from the C library's `struct tcp_info`); for a Unix
// socket, only the unread bytes are known.
static inline uint64_t diorama_traffic(int descriptor) {
  uint64_t info[17];
  socklen_t length = sizeof info;
  uint64_t unread = (uint64_t)diorama_unread(descriptor);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, info, &length) == 0 && length == sizeof info)
    return info[15] + info[16] - unread;
  int unsent = 0;
  ioctl(descriptor, TIOCOUTQ, &unsent);
  return unread + ((uint64_t)unsent << 32);
}

// The process at the other end of a Unix socket; -1 if unknown. (`struct ucred` needs _GNU_SOURCE.)
static inline int diorama_peer(int descriptor, int32_t *pid, uint32_t *uid) {
  struct { int32_t pid; uint32_t uid, gid; } credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
  *pid = credentials.pid;
  *uid = credentials.uid;
  return 0;
}
