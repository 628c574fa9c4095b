#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define _GNU_SOURCE
#include "vdso.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "ClockSupervision.h"
#if defined(__x86_64__)
#include "code_x86_64.h"
#define FUNCTION(name) "__vdso_" name
#else
#include "code_arm64.h"
#define FUNCTION(name) "__kernel_" name
#endif

struct function {
  size_t offset, size;
};

// vdso(7). The linker of the kernel places the strings directly after the symbols, as GNU ld and lld do.
static struct function find(const unsigned char *base, const char *name) {
  const Elf64_Ehdr *header = (const void *)base;
  const Elf64_Phdr *segments = (const void *)(base + header->e_phoff);
  const Elf64_Sym *symbols = NULL;
  const char *strings = NULL;
  for (int i = 0; i < header->e_phnum; i++) {
    if (segments[i].p_type != PT_DYNAMIC) continue;
    for (const Elf64_Dyn *entry = (const void *)(base + segments[i].p_offset); entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_SYMTAB) symbols = (const void *)(base + entry->d_un.d_ptr);
      if (entry->d_tag == DT_STRTAB) strings = (const void *)(base + entry->d_un.d_ptr);
    }
  }
  for (const Elf64_Sym *symbol = symbols; symbol && (const char *)symbol < strings; symbol++) {
    if (strcmp(strings + symbol->st_name, name) == 0) return (struct function){symbol->st_value, symbol->st_size};
  }
  return (struct function){0, 0};
}

// Where the image ends.
static size_t length_of(const unsigned char *base) {
  const Elf64_Ehdr *header = (const void *)base;
  const Elf64_Phdr *segments = (const void *)(base + header->e_phoff);
  size_t end = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
  for (int i = 0; i < header->e_phnum; i++) {
    size_t loaded = segments[i].p_offset + segments[i].p_filesz;
    if (segments[i].p_type == PT_LOAD && loaded > end) end = loaded;
  }
  return end;
}

// The bytes after the image, up to the end of its last page.
static struct function tail(const unsigned char *base, size_t size) {
  struct function rest = {(length_of(base) + 15) & ~(size_t)15, 0};
  while (rest.offset + rest.size < size && base[rest.offset + rest.size] == 0) rest.size++;
  return rest;
}

#if defined(__x86_64__)
enum { JUMP = 5, ORIGINAL_ROOM = 32 };

static void put_jump(unsigned char *bytes, size_t from, size_t to) {
  int32_t distance = (int32_t)(to - (from + JUMP));
  bytes[0] = 0xe9;
  memcpy(bytes + 1, &distance, 4);
}

// The length of an instruction that may be copied as it is, or 0: those that compilers begin a function with. Intel 64 and
// IA-32 Architectures Software Developer's Manual, volume 2.
static size_t movable(const unsigned char *at) {
  if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0) return 4;  // endbr64
  size_t prefix = (at[0] & 0xf0) == 0x40;
  unsigned char code = at[prefix], operands = at[prefix + 1];
  if ((code & 0xf8) == 0x50) return prefix + 1;  // push
  if ((code & 0xf8) == 0xb8 && !(prefix && (at[0] & 8))) return prefix + 5;  // mov imm32
  if ((operands & 0xc0) != 0xc0) return 0;
  switch (code) {
    case 0x31: case 0x33: case 0x85: case 0x89: case 0x8b: return prefix + 2;  // xor, test, mov between registers
    case 0x83: return prefix + 3;  // arithmetic with imm8
    default: return 0;
  }
}

// Copies the first instructions of clock_gettime, which a jump overwrites, and adds a jump to the rest. Those that are
// relative to their address are adapted. Returns the length.
static size_t put_original(unsigned char *bytes, size_t to, const unsigned char *base, size_t from) {
  size_t read = 0, length = 0;
  while (read < JUMP) {
    const unsigned char *at = base + from + read;
    int32_t distance = 0;
    size_t size = movable(at);
    if (size > 0) {
      memcpy(bytes + length, at, size);
      length += size;
    } else if ((at[0] & 0xf0) == 0x70) {  // a conditional jump with 8 bits becomes one with 32
      size = 2;
      distance = (int32_t)((from + read + size + (size_t)(signed char)at[1]) - (to + length + 6));
      bytes[length] = 0x0f;
      bytes[length + 1] = at[0] + 0x10;
      memcpy(bytes + length + 2, &distance, 4);
      length += 6;
    } else if ((at[0] == 0x0f && (at[1] & 0xf0) == 0x80)  // a conditional jump with 32 bits
      || ((at[0] & 0xf8) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 0x05)) {  // lea of an address
      size = at[0] == 0x0f ? 6 : 7;
      memcpy(&distance, at + size - 4, 4);
      distance += (int32_t)(from + read) - (int32_t)(to + length);
      memcpy(bytes + length, at, size - 4);
      memcpy(bytes + length + size - 4, &distance, 4);
      length += size;
    } else {
      // A vDSO of another compiler: the clocks that stay real are read by system calls, which the magic lets pass.
      static const unsigned char call[] = {0x41, 0xb9, 0x72, 0x6f, 0x69, 0x64, 0xb8, 228, 0, 0, 0, 0x0f, 0x05, 0xc3};
      memcpy(bytes, call, sizeof call);  // mov $DIORAMA_CLOCK_MAGIC, %r9d; mov $228, %eax; syscall; ret
      return sizeof call;
    }
    read += size;
  }
  put_jump(bytes + length, to + length, from + read);
  return length + JUMP;
}
#else
enum { JUMP = 8, ORIGINAL_ROOM = 32 };

static void put_word(unsigned char *bytes, uint32_t word) { memcpy(bytes, &word, 4); }

static uint32_t branch(size_t from, size_t to) { return 0x14000000 | ((uint32_t)((to - from) >> 2) & 0x03ffffff); }

// Starts with bti c, since the page may be guarded: indirect calls arrive here. Where it is not, bti does nothing.
static void put_jump(unsigned char *bytes, size_t from, size_t to) {
  put_word(bytes, 0xd503245f);
  put_word(bytes + 4, branch(from + 4, to));
}

// As for x86-64. Arm Architecture Reference Manual, C4.1: branches, adr, adrp and loads of literals depend on their address.
static size_t put_original(unsigned char *bytes, size_t to, const unsigned char *base, size_t from) {
  for (size_t read = 0; read < JUMP; read += 4) {
    uint32_t word;
    memcpy(&word, base + from + read, 4);
    bool is_hint = (word & 0xfffff01f) == 0xd503201f;  // nop, bti, paciasp
    bool is_branch = (word & 0x1c000000) == 0x14000000 && !is_hint;
    bool is_literal = (word & 0x3b000000) == 0x18000000 || (word & 0x1f000000) == 0x10000000;
    if (is_branch || is_literal) {
      static const uint32_t call[] = {
        0x528dee45, 0x72ac8d25, 0xd2800e28, 0xd4000001, 0xd65f03c0,  // DIORAMA_CLOCK_MAGIC to w5; 113 to x8
      };
      memcpy(bytes, call, sizeof call);
      return sizeof call;
    }
    put_word(bytes + read, word);
  }
  put_word(bytes + JUMP, branch(to + JUMP, from + JUMP));
  return JUMP + 4;
}
#endif

// Writes over the image.
static void put(struct vdso *vdso, size_t offset, const void *bytes, size_t length) {
  memcpy(vdso->image + offset, bytes, length);
  if (offset < vdso->start) vdso->start = offset;
  if (offset + length > vdso->end) vdso->end = offset + length;
}

static bool fail_unknown(char *error) {
  snprintf(error, DIORAMA_CLOCK_ERROR,
    "the vDSO of this kernel is laid out in an unknown way, so programs keep the real clock; use --shift-dates, and "
    "report the output of `uname -a`");
  return false;
}

// The vDSO of this process.
static const unsigned char *own_vdso(void) { return (const unsigned char *)getauxval(AT_SYSINFO_EHDR); }

bool vdso_prepare_random(struct vdso *vdso, char *error) {
  struct function getrandom = find(own_vdso(), FUNCTION("getrandom"));
  if (!getrandom.offset) return true;
  if (getrandom.size < sizeof random_code || getrandom.offset + sizeof random_code > VDSO_ROOM) return fail_unknown(error);
  put(vdso, getrandom.offset, random_code, sizeof random_code);
  return true;
}

bool vdso_prepare(struct vdso *vdso, char *error) {
  const unsigned char *base = own_vdso();
  struct timespec where;
  if (!base) {
    snprintf(error, DIORAMA_CLOCK_ERROR,
      "this kernel has no vDSO, so programs keep the real clock; boot without vdso=0, or use --shift-dates");
    return false;
  }
  if (clock_gettime(DIORAMA_CLOCK_MAGIC, &where) == 0) {
    snprintf(error, DIORAMA_CLOCK_ERROR,
      "an isolated program cannot isolate another one; run it outside of `diorama run`");
    return false;
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (length_of(base) + page - 1) / page * page;
  *vdso = (struct vdso){.size = size, .start = size};
  memcpy(vdso->image, base, size < VDSO_ROOM ? size : VDSO_ROOM);
  struct function gettime = find(base, FUNCTION("clock_gettime")), timeofday = find(base, FUNCTION("gettimeofday"));
  struct function time = find(base, FUNCTION("time"));
  // Our code goes into the body of gettimeofday, which it replaces, or else after the image.
  unsigned char bytes[sizeof clock_code + ORIGINAL_ROOM];
  size_t body = (timeofday.offset + JUMP + 15) & ~(size_t)15, length = sizeof clock_code;
  struct function room = {body, timeofday.offset + timeofday.size - body};
  if (!timeofday.offset || timeofday.size < sizeof bytes || room.size < sizeof bytes) room = tail(base, size);
  if (gettime.size < 2 * JUMP || (timeofday.offset && timeofday.size < JUMP) || (time.offset && time.size < JUMP)
    || room.size < sizeof bytes || room.offset + sizeof bytes > VDSO_ROOM || gettime.offset + JUMP > VDSO_ROOM
    || timeofday.offset + JUMP > VDSO_ROOM || time.offset + JUMP > VDSO_ROOM) return fail_unknown(error);
  memcpy(bytes, clock_code, sizeof clock_code);
  length += put_original(bytes + length, room.offset + length, base, gettime.offset);
  put(vdso, room.offset, bytes, length);
  vdso->code = room.offset;
  vdso->gettime = gettime.offset;
  const struct {
    struct function function;
    size_t code;
  } replaced[] = {
    {timeofday, clock_timeofday_offset}, {time, clock_time_offset}, {gettime, clock_gettime_offset},
  };
  for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
    if (!replaced[i].function.offset) continue;
    put_jump(bytes, replaced[i].function.offset, room.offset + replaced[i].code);
    put(vdso, replaced[i].function.offset, bytes, JUMP);
  }
  return true;
}

enum vdso_state vdso_state(const struct vdso *vdso, int memory, uint64_t base) {
  unsigned char found[JUMP];
  if (pread(memory, found, JUMP, (off_t)(base + vdso->gettime)) != JUMP) return VDSO_UNKNOWN;
  if (memcmp(found, vdso->image + vdso->gettime, JUMP) == 0) return VDSO_PATCHED;
  return memcmp(found, own_vdso() + vdso->gettime, JUMP) == 0 ? VDSO_ORIGINAL : VDSO_UNKNOWN;
}

bool vdso_patch(const struct vdso *vdso, int memory, uint64_t base) {
  size_t length = vdso->end - vdso->start;
  off_t place = (off_t)(base + vdso->start);
  ssize_t written = pwrite(memory, vdso->image + vdso->start, length, place);
  if (written == (ssize_t)length) return true;
  // The program has not read the clock yet. Pages that were just written can be written again.
  if (written > 0) (void)!pwrite(memory, own_vdso() + vdso->start, (size_t)written, place);
  return false;
}

enum vdso_call vdso_call(const struct vdso *vdso, uint64_t address, uint64_t *base) {
  static const size_t calls[] = {
    [VDSO_ASKS] = clock_asked_offset, [VDSO_GIVES] = clock_given_offset, [VDSO_READS] = clock_read_offset,
  };
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  for (enum vdso_call call = VDSO_ASKS; call < VDSO_OTHER; call++) {
    *base = address - vdso->code - calls[call];
    if (*base % page == 0) return call;
  }
  return VDSO_OTHER;
}

enum vdso_page vdso_take_page(const struct vdso *vdso, int memory, uint64_t base, uint64_t page) {
  off_t place = (off_t)(base + vdso->code);
  unsigned char is_loaded = 0;
  uint64_t found = 0;
  if (pread(memory, &is_loaded, 1, place + clock_loaded_offset) != 1
    || pread(memory, &found, sizeof found, place + clock_page_offset) != sizeof found) return VDSO_NOT_WRITTEN;
  // A call that a signal has interrupted is repeated.
  if (is_loaded) return found == page ? VDSO_TAKEN : VDSO_HAS_ONE;
  // The flag is written last: a thread that sees it sees the whole address.
  is_loaded = 1;
  return pwrite(memory, &page, sizeof page, place + clock_page_offset) == sizeof page
    && pwrite(memory, &is_loaded, 1, place + clock_loaded_offset) == 1 ? VDSO_TAKEN : VDSO_NOT_WRITTEN;
}
#endif
