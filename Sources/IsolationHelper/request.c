// The packets of PROTOCOL.md: one packet of a SOCK_SEQPACKET socket is a list of fields, separated by null bytes.
#include "helper.h"
#if defined(__linux__)
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAXIMUM_FIELDS = 3, MAXIMUM_DESCRIPTORS = 4 };

static const struct {
  const char *name;
  int fields;  // with the keyword
  int phases;
  enum keyword keyword;
} keywords[] = {
    {"arg", 2, BEFORE_SETUP | BEFORE_START, ARG},
    {"env", 2, BEFORE_SETUP | BEFORE_START, ENV},
    {"cwd", 2, BEFORE_SETUP | BEFORE_START, CWD},
    {"bind", 3, BEFORE_SETUP, BIND},
    {"users", 2, BEFORE_SETUP, USERS},
    {"setup", 2, BEFORE_SETUP, SETUP},
    {"start", 1, BEFORE_START, START},
    {"socket", 2, BEFORE_START | RUNNING, SOCKET},
    {"clock", 2, BEFORE_SETUP, CLOCK},
    {"random", 3, BEFORE_SETUP, RANDOM},
    {"preload", 2, BEFORE_SETUP | BEFORE_START, PRELOAD},
    {"network", 3, BEFORE_SETUP, NETWORK},
};

static const char *const socket_kinds[] = {"tcp4", "tcp6", "udp4", "udp6"};

static enum keyword refuse(int control, const char *format, const char *value) {
  char message[512];
  snprintf(message, sizeof message, format, value);
  const char *advice = "install diorama and diorama-isolate of the same version";
  const char *fields[] = {"failed", "request", "", "0", message, advice, NULL};
  send_packet(control, fields, NULL, 0);
  return INVALID;
}

bool append_item(struct list *list, char *item) {
  char **items = realloc(list->items, (list->count + 2) * sizeof *items);
  if (!items) return false;
  list->items = items;
  items[list->count++] = item;
  items[list->count] = NULL;
  return true;
}

// cmsg(3): the union gives the buffer the alignment of a header.
union rights {
  char bytes[CMSG_SPACE(MAXIMUM_DESCRIPTORS * sizeof(int))];
  struct cmsghdr header;
};

// Receives a packet. The result is its length; `descriptor` is the one that came with it, or negative. Others are closed.
static ssize_t receive(int control, char *bytes, size_t size, int *descriptor) {
  union rights rights = {0};
  struct iovec content = {bytes, size};
  struct msghdr message = {
    .msg_iov = &content, .msg_iovlen = 1, .msg_control = rights.bytes, .msg_controllen = sizeof rights.bytes};
  ssize_t length = recvmsg(control, &message, MSG_CMSG_CLOEXEC);
  *descriptor = -1;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); length >= 0 && header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      if (*descriptor >= 0) close(*descriptor);
      memcpy(descriptor, CMSG_DATA(header) + at, sizeof(int));
    }
  }
  return length;
}

static bool read_wish(const char *text, enum wish *wish) {
  *wish = !strcmp(text, "required") ? REQUIRED : !strcmp(text, "optional") ? OPTIONAL : NOT_WANTED;
  return *wish != NOT_WANTED;
}

// Reads port numbers, separated by commas.
static bool read_ports(const char *text, struct request *request) {
  request->port_count = 0;
  request->ports = malloc((strlen(text) + 1) * sizeof *request->ports);
  while (request->ports && *text) {
    char *rest;
    unsigned long port = *text >= '0' && *text <= '9' ? strtoul(text, &rest, 10) : 0;
    if (!port || port > 65535 || (*rest && *rest != ',')) return false;
    request->ports[request->port_count++] = (uint16_t)port;
    text = *rest ? rest + 1 : rest;
  }
  return request->ports;
}

enum keyword read_packet(int control, enum phase phase, struct request *request) {
  // recv(2): with MSG_TRUNC, the result is the real length of the packet, even if the buffer is smaller.
  ssize_t length;
  do length = recv(control, NULL, 0, MSG_PEEK | MSG_TRUNC);
  while (length < 0 && errno == EINTR);
  if (length <= 0) return CLOSED;
  char *bytes = malloc((size_t)length + 1);
  if (!bytes) return refuse(control, "no memory for a packet", "");
  int descriptor;
  if (receive(control, bytes, (size_t)length, &descriptor) != length) return CLOSED;
  bytes[length] = 0;

  char *fields[MAXIMUM_FIELDS] = {bytes};
  int count = 1;
  for (ssize_t at = 0; at < length; at++) {
    if (bytes[at]) continue;
    if (count == MAXIMUM_FIELDS) return refuse(control, "too many fields in '%.100s'", bytes);
    fields[count++] = bytes + at + 1;
  }
  size_t row = 0;
  while (row < sizeof keywords / sizeof *keywords && strcmp(keywords[row].name, fields[0])) row++;
  if (row == sizeof keywords / sizeof *keywords) return refuse(control, "unknown keyword '%.100s'", fields[0]);
  if (count != keywords[row].fields) return refuse(control, "wrong number of fields in '%s'", fields[0]);
  if (!(keywords[row].phases & phase)) return refuse(control, "'%s' came at the wrong time", fields[0]);

  if (descriptor >= 0 && keywords[row].keyword != CLOCK) close(descriptor);
  bool is_stored = true;
  switch (keywords[row].keyword) {
    case ARG: is_stored = append_item(&request->arguments, fields[1]); break;
    case ENV:
      if (!strchr(fields[1], '=')) return refuse(control, "a variable without '=': '%.100s'", fields[1]);
      is_stored = append_item(&request->variables, fields[1]);
      break;
    case CWD:
      if (fields[1][0] != '/') return refuse(control, "not an absolute path: '%.300s'", fields[1]);
      request->folder = fields[1];
      break;
    case BIND:
      for (int each = 1; each < 3; each++)
        if (fields[each][0] != '/') return refuse(control, "not an absolute path: '%.300s'", fields[each]);
      is_stored = append_item(&request->sources, fields[1]) && append_item(&request->targets, fields[2]);
      break;
    case USERS:
      if (strcmp(fields[1], "new")) return refuse(control, "'users' is 'new', not '%.100s'", fields[1]);
      request->forces_user_namespace = true;
      break;
    case SETUP:
      if (request->is_supervised && request->sources.count)
        return refuse(control, "nothing can be mounted without namespaces: '%.300s'", request->targets.items[0]);
      if (strcmp(fields[1], PROTOCOL_VERSION))
        return refuse(control, "protocol version %.100s is not " PROTOCOL_VERSION, fields[1]);
      break;
    case START:
      if (!request->arguments.count) return refuse(control, "no command", "");
      break;
    case SOCKET:
      request->socket_kind = NULL;
      for (size_t each = 0; each < sizeof socket_kinds / sizeof *socket_kinds; each++)
        if (!strcmp(socket_kinds[each], fields[1])) request->socket_kind = socket_kinds[each];
      if (!request->socket_kind) return refuse(control, "unknown kind of socket '%.100s'", fields[1]);
      break;
    case CLOCK:
      if (!read_wish(fields[1], &request->clock))
        return refuse(control, "'clock' is 'required' or 'optional', not '%.100s'", fields[1]);
      if (descriptor < 0) return refuse(control, "'clock' came without a descriptor", "");
      request->page = descriptor;
      break;
    case RANDOM:
      if (!read_wish(fields[1], &request->random))
        return refuse(control, "'random' is 'required' or 'optional', not '%.100s'", fields[1]);
      request->seed = fields[2];
      break;
    case PRELOAD:
      // ld.so(8): spaces and colons separate libraries.
      if (fields[1][0] != '/' || strpbrk(fields[1], " :"))
        return refuse(control, "not an absolute path without spaces and colons: '%.300s'", fields[1]);
      request->preload = fields[1];
      break;
    case NETWORK:
      if (strcmp(fields[1], "seccomp")) return refuse(control, "'network' is 'seccomp', not '%.100s'", fields[1]);
      if (!read_ports(fields[2], request)) return refuse(control, "not a list of ports: '%.100s'", fields[2]);
      request->is_supervised = true;
      break;
    default: break;
  }
  if (!is_stored) return refuse(control, "no memory for the request", "");
  // The request refers to the bytes of others; these may come often.
  if (keywords[row].keyword == SOCKET) free(bytes);
  return keywords[row].keyword;
}

bool send_packet(int control, const char *const *fields, const int *descriptors, size_t count) {
  char bytes[4096];
  size_t length = 0;
  for (size_t each = 0; fields[each]; each++) {
    if (each && length < sizeof bytes) bytes[length++] = 0;
    // A failure may quote a long path, so it is cut rather than refused.
    size_t size = strnlen(fields[each], sizeof bytes - length);
    memcpy(bytes + length, fields[each], size);
    length += size;
  }
  struct iovec content = {bytes, length};
  union rights rights = {0};
  struct msghdr message = {.msg_iov = &content, .msg_iovlen = 1};
  if (count) {
    message.msg_control = rights.bytes;
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors, count * sizeof(int));
  }
  ssize_t sent;
  do sent = sendmsg(control, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == (ssize_t)length;
}

void leave(int control, int status) {
  // unix(7): if a socket is closed with unread packets, the other side gets ECONNRESET, here in place of our last
  // packet.
  // shutdown(2): after it, the other side cannot send more.
  char byte;
  shutdown(control, SHUT_RD);
  while (recv(control, &byte, 1, MSG_DONTWAIT) > 0) {}
  _exit(status);
}
#endif
