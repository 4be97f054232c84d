// Implements functions of newer glibc versions that GCC 12's runtime libraries need, so that a program
// that contains them starts on glibc 2.34, too. If glibc has such a function, it is called instead.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

typedef int find_object(void *, struct dl_find_object *);
static find_object *of_glibc;

__attribute__((constructor)) static void look_for_it(void) {
  of_glibc = (find_object *)dlsym(RTLD_NEXT, "_dl_find_object");
}

struct search {
  ElfW(Addr) address;
  struct dl_find_object *found;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  struct search *const s = data;
  ElfW(Phdr) const *holds = NULL, *frames = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    ElfW(Phdr) const *const p = &object->dlpi_phdr[i];
    ElfW(Addr) const begin = object->dlpi_addr + p->p_vaddr;
    if (p->p_type == PT_LOAD && s->address >= begin && s->address < begin + p->p_memsz) holds = p;
    if (p->p_type == PT_GNU_EH_FRAME) frames = p;
  }
  if (!holds || !frames) return 0;
  char *const base = (char *)object->dlpi_addr;
  *s->found = (struct dl_find_object){.dlfo_map_start = base + holds->p_vaddr,
                                      .dlfo_map_end = base + holds->p_vaddr + holds->p_memsz,
                                      .dlfo_eh_frame = base + frames->p_vaddr};
  return 1;
}

// In glibc since 2.35. Exception handling finds the unwind tables of an address with it.
int _dl_find_object(void *address, struct dl_find_object *found) {
  if (of_glibc) return of_glibc(address, found);
  struct search s = {(ElfW(Addr))address, found};
  return dl_iterate_phdr(look_at, &s) ? 0 : -1;
}

// In glibc since 2.36. std::random_device calls it.
uint32_t arc4random(void) {
  uint32_t number;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();  // it takes so few bytes at once
  return number;
}
