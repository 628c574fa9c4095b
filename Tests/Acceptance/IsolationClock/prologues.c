// Replaces functions that begin in the ways in which compilers begin them, and calls the originals, which must give the same
// as before. Prints how many functions there were, and how many of them gave something else. For x86-64.
#include "vdso.c"

#include <stdlib.h>
#include <sys/mman.h>

// Each gives 7 for an argument up to 11, and 9 for others; after up to 64 bytes the next one follows.
__asm__(
  ".data\n.balign 64\nfunctions:\n"
  "endbr64\ncmp $11,%edi\nja 1f\nmov $7,%eax\nret\n1: mov $9,%eax\nret\n"
  ".balign 64\npush %rbp\nmov %rsp,%rbp\npush %r14\npush %rbx\ncmp $11,%edi\nmov $7,%eax\nmov $9,%ebx\ncmova %ebx,%eax\n"
  "pop %rbx\npop %r14\npop %rbp\nret\n"
  ".balign 64\ncmp $11,%edi\nja 1f\nmov $7,%eax\nret\n1: mov $9,%eax\nret\n"
  ".balign 64\nxor %eax,%eax\ncmp $11,%edi\n.byte 0x0f,0x87\n.long 1f-2f\n2: mov $7,%eax\nret\n1: mov $9,%eax\nret\n"
  ".balign 64\nlea 3f(%rip),%r10\nmov (%r10),%eax\ncmp $11,%edi\nja 1f\nret\n1: add $2,%eax\nret\n3: .long 7\n"
  ".balign 64\nsub $24,%rsp\nmov $7,%eax\ncmp $11,%edi\njbe 1f\nmov $9,%eax\n1: add $24,%rsp\nret\n"
  ".balign 64\nfunctions_end:\n.text\n");
extern unsigned char functions[], functions_end[];

int main(void) {
  enum { SIZE = 64 };
  size_t count = (size_t)(functions_end - functions) / SIZE, differed = 0;
  unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return 1;
  for (size_t i = 0; i < count; i++) {
    size_t from = i * SIZE, to = 2048 + i * SIZE;
    memcpy(code, functions, count * SIZE);
    size_t length = put_original(code + to, to, code, from);
    memset(code + from, 0xcc, JUMP);  // A trap, if the original still ran from its start.
    int (*original)(int) = (void *)(code + to);
    // The bytes of the fallback, a system call, are no success.
    if (length > SIZE || code[to] == 0x41 || original(3) != 7 || original(100) != 9) {
      printf("function %zu\n", i);
      differed++;
    }
  }
  // What cannot be moved calls the kernel.
  static const unsigned char unknown[16] = {0x0f, 0x31};
  struct timespec time = {0, 0}, now;
  memcpy(code, unknown, sizeof unknown);
  put_original(code + 2048, 2048, code, 0);
  int (*call)(clockid_t, struct timespec *) = (void *)(code + 2048);
  clock_gettime(CLOCK_REALTIME, &now);
  if (call(CLOCK_REALTIME, &time) != 0 || time.tv_sec < now.tv_sec || time.tv_sec > now.tv_sec + 60) differed++;
  printf("%zu %zu\n", count + 1, differed);
  return differed != 0;
}
