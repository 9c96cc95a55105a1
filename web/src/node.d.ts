// The little of node that tests use.
declare module 'node:test' {
  export function test(name: string, run: () => void): void;
}
declare module 'node:assert/strict' {
  export function deepEqual(got: unknown, wanted: unknown): void;
  export function equal(got: unknown, wanted: unknown): void;
}
