// Timeline, charts, machines and tables of the page use the same range, which is in the address, and show each other's
// crosshair.

import { signal } from '@preact/signals';
import type { Range } from '../model/run/timeline';
import { choose, chosen } from '../route';

// Parses "1795764980123-1795765000456" in ms; null for the whole range.
export function lookedAt(): Range | null {
  const [from, to] = chosen('zoom').value.split('-').map(Number);
  return from && to && from < to ? { from, to } : null;
}
export const lookAtRange = (r: Range | null, how: 'push' | 'replace' = 'push') => choose({ zoom: r ? `${Math.floor(r.from)}-${Math.ceil(r.to)}` : '' }, how);

export const crosshair = signal<number | null>(null); // ms
