// The page's timeline, charts, machines and tables use the range in the address, and show each other's crosshair.

import { signal } from '@preact/signals';
import type { Range } from '../run/model/timeline';
import { choose, chosen } from './route';

export type { Range };

// Returns the range in "1795764980123-1795765000456" (ms), or null for the whole range.
export function lookedAt(): Range | null {
  const [from, to] = chosen('zoom').value.split('-').map(Number);
  return from && to && from < to ? { from, to } : null;
}
export const lookAtRange = (r: Range | null, how: 'push' | 'replace' = 'push') => choose({ zoom: r ? `${Math.floor(r.from)}-${Math.ceil(r.to)}` : '' }, how);

export const crosshair = signal<number | null>(null); // ms
