// A function keeps its colour everywhere: the server lists functions by first sight, the first five have one of their
// own, the rest share one.

export const HUES = ['k0', 'k1', 'k2', 'k3', 'k4', 'other'] as const;
export type Hue = (typeof HUES)[number];
export const OTHER = HUES.length - 1;

// The position in HUES.
export function hueNumbers(functions: readonly { name: string }[]): Map<string, number> {
  return new Map(functions.map(({ name }, n) => [name, Math.min(n, OTHER)]));
}
