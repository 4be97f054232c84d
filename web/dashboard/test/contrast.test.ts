// Checks the colour tokens against WCAG, so that states stay readable.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const css = readFileSync(new URL('../src/shared/style/tokens.css', import.meta.url), 'utf8');
// The first occurrence of each token; later occurrences are for prefers-contrast.
const tokens = new Map<string, [string, string]>();
for (const [, name, light, dark] of css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)) {
  if (!tokens.has(name!)) tokens.set(name!, [light!, dark!]);
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const c = parseInt(hex.slice(at, at + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high! + 0.05) / (low! + 0.05);
}

const states = ['connected', 'late', 'running', 'restarting', 'error', 'disconnected'];
const surfaces = ['surface', 'bg', 'surface2'];
const pairs: [string, string, number][] = [
  ...surfaces.flatMap((on): [string, string, number][] => [
    ['text', on, 4.5],
    ['text2', on, 4.5],
    ['text3', on, 4.5],
    ['accent', on, 4.5],
    ...states.map((state): [string, string, number] => [`${state}-text`, on, 4.5]),
    ...states.map((state): [string, string, number] => [state, on, 3]),
  ]),
  ...['text', 'text2', 'accent', ...states.map((s) => `${s}-text`)].map((ink): [string, string, number] => [ink, 'accent-bg', 4.5]),
  ...['text', 'text2', 'error-text'].map((ink): [string, string, number] => [ink, 'error-bg', 4.5]),
  ...['text', 'late-text'].map((ink): [string, string, number] => [ink, 'late-bg', 4.5]),
  ['text', 'track', 4.5],
  ['waiting', 'surface', 3],
  ['control', 'surface', 3],
  ...Array.from({ length: 12 }, (_, n) => `k${n}`).map((ink): [string, string, number] => [ink, 'surface', 3]),
];

test('all colour pairs have enough contrast in both themes', () => {
  assert.ok(tokens.size >= 34);
  for (const [ink, on, least] of pairs) {
    for (const n of [0, 1] as const) {
      const ratio = contrast(tokens.get(ink)![n], tokens.get(on)![n]);
      assert.ok(ratio >= least, `${ink} on ${on}, ${n ? 'dark' : 'light'}: ${ratio.toFixed(2)} < ${least}`);
    }
  }
});

test('heat colours contrast more with the background at each step', () => {
  for (const n of [0, 1] as const) {
    const ratios = ['heat0', 'heat1', 'heat2', 'heat3'].map((heat) => contrast(tokens.get(heat)![n], tokens.get('surface')![n]));
    for (let step = 1; step < ratios.length; ++step) assert.ok(ratios[step]! > ratios[step - 1]! * 1.2, `${n} ${ratios}`);
  }
});

function hueOf(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255) as [number, number, number];
  const [most, least] = [Math.max(r, g, b), Math.min(r, g, b)];
  const sixth = most === r ? ((g - b) / (most - least)) % 6 : most === g ? (b - r) / (most - least) + 2 : (r - g) / (most - least) + 4;
  return (sixth * 60 + 360) % 360;
}

test('no function has the hue of a state', () => {
  for (const theme of [0, 1] as const)
    for (let n = 0; n < 12; ++n)
      for (const state of ['connected', 'running', 'late', 'error']) {
        const apart = Math.abs(hueOf(tokens.get(`k${n}`)![theme]) - hueOf(tokens.get(state)![theme]));
        assert.ok(Math.min(apart, 360 - apart) >= 18, `k${n} looks like ${state}: ${apart.toFixed(0)} degrees apart`);
      }
});
