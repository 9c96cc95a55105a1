/* What clrscope and libclrscope_lttng.so say to each other: plain C, so that the module knows
 * nothing of clrscope and clrscope links nothing of LTTng.
 *
 * The module has a tracepoint for each event of the runtime whose fields are simple (made from
 * nettrace/tables by tools/gen_lttng), and one each for all other events, counters, losses and
 * processes. Texts are UTF-8 up to a zero, and never null. */
#pragma once

#include <stdint.h> /* NOLINT(modernize-deprecated-headers): C reads it too */

#define CLRSCOPE_LTTNG_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

union clrscope_lttng_value {
  int64_t i;
  uint64_t u;
  double f;
  const char* text;
};

enum clrscope_lttng_type {
  CLRSCOPE_LTTNG_INTEGER, /* i or u: the same bits */
  CLRSCOPE_LTTNG_REAL,
  CLRSCOPE_LTTNG_TEXT
};

/* Whose event, and when it happened: the tracepoint's own time is that of its delivery. */
struct clrscope_lttng_common {
  uint64_t time; /* nanoseconds since 1970 */
  int32_t pid;
  uint64_t tid;
  const char* activity;
  const uint64_t* stack;
  uint32_t stack_length;
};

struct clrscope_lttng_field {
  const char* name;
  enum clrscope_lttng_type type;
};

/* An event with typed fields: as many values as there are fields, in their order. */
struct clrscope_lttng_kind {
  const char* provider;
  uint32_t id;
  const struct clrscope_lttng_field* fields;
  uint32_t field_count;
  int (*wanted)(void);
  void (*emit)(const struct clrscope_lttng_common* common,
               const union clrscope_lttng_value* values);
};

struct clrscope_lttng_event {
  const char* provider;
  const char* name;
  uint32_t id;
  const char* payload; /* JSON */
};

struct clrscope_lttng_counter {
  const char* process;
  const char* provider;
  const char* name;
  const char* unit;
  const char* tags;
  const char* kind;
  double value;
  uint64_t count;
  const char* quantiles;
};

struct clrscope_lttng_module {
  uint32_t abi;
  uint32_t kind_count;
  const struct clrscope_lttng_kind* kinds;
  int (*event_wanted)(void);
  void (*event)(const struct clrscope_lttng_common* common,
                const struct clrscope_lttng_event* event);
  int (*counter_wanted)(void);
  void (*counter)(const struct clrscope_lttng_common* common,
                  const struct clrscope_lttng_counter* counter);
  void (*dropped)(uint64_t events);
  void (*process)(int32_t pid, const char* name, const char* runtime, const char* change);
};

/* The one symbol that the module exports. */
typedef const struct clrscope_lttng_module* (*clrscope_lttng_entry)(void);

#ifdef __cplusplus
}
#endif
