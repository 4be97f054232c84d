// Stacks of processes, from REST. Pure.

import type { ProgramStacks, TaskStacks } from 'muster-rest';
import { plural } from '../format';
import { rankLabel } from './programs';

export type { ProgramStacks, TaskStacks };
export type StackGroup = ProgramStacks['groups'][number];

const NAMED_MAX = 8;

// "rank 0, rank 3 and 12 others"
export function whoStands(group: StackGroup): string {
  const names = group.ranks.slice(0, NAMED_MAX).map(rankLabel);
  const rest = group.ranks.length - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${plural(rest, 'other')}` : '');
}

const WHY: Record<string, string> = {
  NOT_PYTHON: 'It is no Python that has registered, and could not be looked at from outside.',
  STOPPED: 'It is stopped by a signal or a debugger.',
  IN_KERNEL: 'It is in a call of the kernel that cannot be interrupted.',
  NO_ANSWER: 'It did not answer within a second; its worker may be older than the question.',
  OFF: 'Its worker is not prepared for it.',
  AWAY: 'Its worker is away; look again.',
  BUSY: 'Its worker answers as many questions as it may; look again.',
  UNKNOWN: 'It has ended meanwhile.',
};

// Returns why the text is incomplete; empty if it contains all threads.
export function whyNotWhole(state: string): string {
  return state === 'TAKEN' || state === 'NATIVE' ? '' : (WHY[state] ?? state);
}
