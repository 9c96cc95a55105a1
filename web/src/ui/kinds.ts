// Whose code a frame is, in the order of FrameKind in src/analyze/profile.h. Colours are the --kind-… of tokens.css.

export const kKinds = ['unknown', 'managed', 'framework', 'dynamic', 'native', 'kernel', 'runtime', 'gc', 'jit'] as const;
export type Kind = (typeof kKinds)[number];

export const kindTitles: Record<Kind, string> = {
  unknown: 'unknown',
  managed: 'app',
  framework: 'framework',
  dynamic: 'made at run time',
  native: 'native',
  kernel: 'kernel',
  runtime: 'runtime',
  gc: 'GC',
  jit: 'JIT',
};
