#pragma once
#include <stddef.h>
#include <stdint.h>

/// The ChaCha20 block function of RFC 8439, section 2.3.
void chacha20_block(const unsigned char key[32], uint32_t counter, const unsigned char nonce[12], unsigned char block[64]);
