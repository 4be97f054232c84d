// Colours are resolved here for canvases, which cannot read light-dark().

import { signal } from '@preact/signals';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'muster.theme';
const stored = localStorage.getItem(KEY) as Theme | null;

export const theme = signal<Theme>(stored && THEMES.includes(stored) ? stored : 'auto');
export const repaint = signal(0); // incremented when results of `color` change

const cache = new Map<string, string>();
let probe: HTMLElement | null = null;

export function color(token: string): string {
  let value = cache.get(token);
  if (value === undefined) {
    if (!probe) {
      probe = document.createElement('i');
      probe.hidden = true;
      probe.style.forcedColorAdjust = 'none'; // canvases keep their colours; shapes show the states
      document.body.append(probe);
    }
    probe.style.color = `var(--${token})`;
    value = getComputedStyle(probe).color;
    cache.set(token, value);
  }
  return value;
}

function changed(): void {
  cache.clear();
  ++repaint.value;
}

export function setTheme(next: Theme): void {
  theme.value = next;
  if (next === 'auto') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, next);
  apply();
}

function apply(): void {
  document.documentElement.dataset.theme = theme.value;
  changed();
}

export function startTheme(): void {
  apply();
  for (const media of ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']) {
    matchMedia(media).addEventListener('change', changed);
  }
}
