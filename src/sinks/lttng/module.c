/* libclrscope_lttng.so: hands over what clrscope's sink gives it. clr_kinds.inc is made by
 * tools/gen_lttng. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "sinks/lttng/tracepoints.tp"

static int event_wanted(void) { return lttng_ust_tracepoint_enabled(clrscope, event); }
static int counter_wanted(void) { return lttng_ust_tracepoint_enabled(clrscope, counter); }

static void event(const struct clrscope_lttng_common* common,
                  const struct clrscope_lttng_event* one) {
  lttng_ust_do_tracepoint(clrscope, event, common, one);
}

static void counter(const struct clrscope_lttng_common* common,
                    const struct clrscope_lttng_counter* one) {
  lttng_ust_do_tracepoint(clrscope, counter, common, one);
}

static void dropped(uint64_t events) { lttng_ust_tracepoint(clrscope, dropped, events); }

static void process(int32_t pid, const char* name, const char* runtime, const char* change) {
  lttng_ust_tracepoint(clrscope, process, pid, name, runtime, change);
}

#include "clr_kinds.inc"

__attribute__((visibility("default"))) const struct clrscope_lttng_module* clrscope_lttng(void);

const struct clrscope_lttng_module* clrscope_lttng(void) {
  static const struct clrscope_lttng_module module = {
      .abi = CLRSCOPE_LTTNG_ABI,
      .kind_count = sizeof kinds / sizeof kinds[0],
      .kinds = kinds,
      .event_wanted = event_wanted,
      .event = event,
      .counter_wanted = counter_wanted,
      .counter = counter,
      .dropped = dropped,
      .process = process,
  };
  return &module;
}
