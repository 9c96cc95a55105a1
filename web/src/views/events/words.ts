// What the runtime's names mean.

const kGcReasons: Record<string, string> = {
  AllocSmall: 'the budget for small objects was used up',
  AllocLarge: 'large objects were allocated',
  Induced: 'GC.Collect was called',
  InducedNotForced: 'GC.Collect was called, optional',
  InducedCompacting: 'GC.Collect was called, compacting',
  InducedLowMemory: 'the program said that memory is low',
  InducedAggressive: 'GC.Collect was called, aggressive',
  LowMemory: 'the machine or container is short of memory',
  LowMemoryHost: 'the host is short of memory',
  Empty: 'no reason given',
  OutOfSpaceSOH: 'no room for small objects',
  OutOfSpaceLOH: 'no room for large objects',
  PMFullGC: 'a full collection while memory is low',
};

const kPoolReasons: Record<string, string> = {
  Warmup: 'the pool is starting',
  Initializing: 'the pool is starting',
  RandomMove: 'trying whether another number is faster',
  ClimbingMove: 'another number is faster',
  ChangePoint: 'the work changed',
  Stabilizing: 'the number is kept',
  Starvation: 'queued work did not move',
  ThreadTimedOut: 'a worker had nothing to do',
  CooperativeBlocking: 'pool threads block on tasks',
};

const kTiers: Record<string, string> = {
  QuickJitted: 'tier 0: compiled fast, runs slowly',
  QuickJittedInstrumented: 'tier 0 with counters for the next tier',
  MinOptJitted: 'without optimization',
  Optimized: 'optimized at once',
  OptimizedTier1: 'tier 1: often called, optimized',
  OptimizedTier1Instrumented: 'tier 1 with counters, of precompiled code',
  OptimizedTier1OSR: 'tier 1: replaced while it runs in a loop',
  ReadyToRun: 'precompiled',
  PreJIT: 'precompiled',
};

export const gcReason = (name: string): string => kGcReasons[name] ?? '';
export const poolReason = (name: string): string => kPoolReasons[name] ?? '';
export const tierWords = (name: string): string => kTiers[name] ?? '';

// "1 wait", "1,219 waits".
export function counted(number: number, word: string): string {
  return `${number.toLocaleString('en-US')} ${word}${number === 1 ? '' : 's'}`;
}
