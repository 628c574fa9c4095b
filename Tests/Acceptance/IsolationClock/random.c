// Checks ChaCha20 against RFC 8439, and calls getrandom in every way. Prints what it got, in hexadecimal.
//
//     random vectors | calls
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chacha20.c"

static void print(const char *name, const unsigned char *bytes, size_t length) {
  printf("%s ", name);
  for (size_t i = 0; i < length; i++) printf("%02x", bytes[i]);
  printf("\n");
}

// Section 2.3.2, and the first three test vectors of appendix A.1.
static int vectors(void) {
  static const struct {
    unsigned char key[32], nonce[12];
    uint32_t counter;
    const char *block;
  } vectors[] = {
    {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
      {0, 0, 0, 9, 0, 0, 0, 0x4a}, 1,
      "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4ed2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"},
    {{0}, {0}, 0,
      "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"},
    {{0}, {0}, 1,
      "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"},
    {{[31] = 1}, {0}, 1,
      "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0"},
  };
  int differed = 0;
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
    unsigned char block[64];
    char text[129];
    chacha20_block(vectors[i].key, vectors[i].counter, vectors[i].nonce, block);
    for (int byte = 0; byte < 64; byte++) sprintf(text + 2 * byte, "%02x", block[byte]);
    if (strcmp(text, vectors[i].block) != 0) differed++;
  }
  printf("differed %d\n", differed);
  return differed != 0;
}

static int calls(void) {
  unsigned char bytes[100000];
  print("AT_RANDOM", (const unsigned char *)getauxval(AT_RANDOM), 16);
  if (syscall(SYS_getrandom, bytes, 32, 0) != 32) return 1;
  print("call", bytes, 32);
  if (syscall(SYS_getrandom, bytes, sizeof bytes, 0) != sizeof bytes) return 1;
  print("end of a long one", bytes + sizeof bytes - 16, 16);
  printf("fault %d\n", syscall(SYS_getrandom, (void *)8, 16, 0) == -1 ? errno : 0);
  printf("flags %d\n", syscall(SYS_getrandom, bytes, 16, 0x100) == -1 ? errno : 0);
  printf("nothing %ld\n", syscall(SYS_getrandom, NULL, 0, 0));
  void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  ssize_t (*function)(void *, size_t, unsigned, void *, size_t) = NULL;
  if (vdso) *(void **)&function = dlsym(vdso, "__vdso_getrandom");
  if (!function) {
    printf("no function in the vDSO\n");
    return 0;
  }
  char state[4096];
  printf("question %zd\n", function(NULL, 0, 0, state, (size_t)-1));
  if (function(bytes, 32, 0, state, sizeof state) != 32) return 1;
  print("vDSO", bytes, 32);
  return 0;
}

int main(int count, char **words) {
  if (count == 2 && strcmp(words[1], "vectors") == 0) return vectors();
  if (count == 2 && strcmp(words[1], "calls") == 0) return calls();
  fprintf(stderr, "random: no such program\n");
  return 2;
}
