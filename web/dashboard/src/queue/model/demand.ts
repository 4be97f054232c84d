// Closures that wait for a worker that may never connect.

import type { Gangs, Wishes } from 'muster-rest';
import { pairs } from '../../shared/model/format';

export type Gang = Gangs['gangs'][number];
export type Demand = Wishes['wishes'][number];

// Formats as "only on worker:3, zone=a, gpu=2".
export function needsText({ task, labels, resources }: Demand['needs']): string {
  return [task && `only on ${task}`, pairs(labels), pairs(resources)].filter(Boolean).join(', ') || 'the function';
}
