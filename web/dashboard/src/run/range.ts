// The range of time that the page of a program looks at. It is in the address, and all of the page obeys it.

import type { Range } from '../model/run/timeline';
import { choose, chosen } from '../route';

// The range that is looked at, "1795764980123-1795765000456" in ms; null: the whole run.
export function lookedAt(): Range | null {
  const [from, to] = chosen('zoom').value.split('-').map(Number);
  return from && to && from < to ? { from, to } : null;
}
export const lookAtRange = (r: Range | null, how: 'push' | 'replace' = 'push') => choose({ zoom: r ? `${Math.floor(r.from)}-${Math.ceil(r.to)}` : '' }, how);
