#pragma once
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ClockSupervision.h"

// Leads the connections of supervised programs to the server, by their system calls.

/// What becomes of a call.
enum network_answer {
  /// It is not a call of the network.
  NETWORK_OTHER,
  /// The answer is to be sent.
  NETWORK_ANSWER,
};

struct network;

struct network *network_create(const struct diorama_network *settings, char *error);
void network_free(struct network *network);

/// Answers a call. `problem` is null, or what the caller is to report: why the program cannot use the network.
enum network_answer network_answer(
  struct network *network, int listener, const struct seccomp_notif *call, struct seccomp_notif_resp *answer,
  const char **problem);
