// Function colours, assigned in order of first occurrence on the server and reused after twelve. Several or unknown
// functions are grey.

export const HUES = ['k0', 'k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7', 'k8', 'k9', 'k10', 'k11', 'other'] as const;
export const OTHER = HUES.length - 1;

export function hueNumbers(functions: readonly { name: string }[]): Map<string, number> {
  return new Map(functions.map(({ name }, n) => [name, n % OTHER]));
}
