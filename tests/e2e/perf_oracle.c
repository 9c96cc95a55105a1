// A native load whose stacks are known by name: built without frame pointers for the comparison with perf.
#include <stdlib.h>
#include <string.h>

#define KEPT __attribute__((noinline, noclone))

static volatile unsigned sink;

KEPT static void oracle_burn(unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) sink = sink * 31 + i;
}

KEPT static void oracle_descend(int depth) {
  char kept[200];
  memset(kept, depth, sizeof kept);
  sink += (unsigned)kept[depth];
  if (depth > 0)
    oracle_descend(depth - 1);
  else
    oracle_burn(60000);
  sink += (unsigned)kept[0];  // no tail call
}

KEPT static int oracle_by_value(const void* a, const void* b) {
  oracle_burn(20);
  return (*(const unsigned*)a > *(const unsigned*)b) - (*(const unsigned*)a < *(const unsigned*)b);
}

KEPT static void oracle_sort(void) {
  unsigned values[512];
  for (unsigned i = 0; i < 512; ++i) values[i] = i * 2654435761U;
  qsort(values, 512, sizeof values[0], oracle_by_value);
  sink += values[0];
}

KEPT static void oracle_main(void) {
  for (;;) {
    oracle_descend(3);
    oracle_descend(12);
    oracle_sort();
  }
}

int main(void) {
  oracle_main();
  return (int)sink;
}
