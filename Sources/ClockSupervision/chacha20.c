// ChaCha20, RFC 8439. Tests/Acceptance/IsolationClock/random.c has its test vectors.
#include "chacha20.h"

#include <string.h>

static uint32_t load(const unsigned char *bytes) {
  return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint32_t rotate(uint32_t word, int bits) { return word << bits | word >> (32 - bits); }

static void quarter_round(uint32_t *state, int a, int b, int c, int d) {
  state[a] += state[b], state[d] = rotate(state[d] ^ state[a], 16);
  state[c] += state[d], state[b] = rotate(state[b] ^ state[c], 12);
  state[a] += state[b], state[d] = rotate(state[d] ^ state[a], 8);
  state[c] += state[d], state[b] = rotate(state[b] ^ state[c], 7);
}

void chacha20_block(const unsigned char key[32], uint32_t counter, const unsigned char nonce[12], unsigned char block[64]) {
  uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, state[16];
  for (int i = 0; i < 8; i++) start[4 + i] = load(key + 4 * i);
  start[12] = counter;
  for (int i = 0; i < 3; i++) start[13 + i] = load(nonce + 4 * i);
  memcpy(state, start, sizeof state);
  for (int i = 0; i < 10; i++) {
    for (int column = 0; column < 4; column++) quarter_round(state, column, 4 + column, 8 + column, 12 + column);
    for (int diagonal = 0; diagonal < 4; diagonal++)
      quarter_round(state, diagonal, 4 + (diagonal + 1) % 4, 8 + (diagonal + 2) % 4, 12 + (diagonal + 3) % 4);
  }
  for (int i = 0; i < 16; i++) {
    uint32_t word = state[i] + start[i];
    for (int byte = 0; byte < 4; byte++) block[4 * i + byte] = (unsigned char)(word >> 8 * byte);
  }
}
