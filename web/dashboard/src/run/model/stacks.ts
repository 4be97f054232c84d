import type { ProgramStacks, TaskStacks } from 'muster-rest';
import { plural } from '../../shared/model/format';
import { rankLabel } from '../../shared/model/programs';

export type { ProgramStacks, TaskStacks };
export type StackGroup = ProgramStacks['groups'][number];

const NAMED_MAX = 8;

// Formats as "rank 0, rank 3 and 12 others".
export function whoStands(group: StackGroup): string {
  const names = group.ranks.slice(0, NAMED_MAX).map(rankLabel);
  const rest = group.ranks.length - names.length;
  return names.join(', ') + (rest > 0 ? ` and ${plural(rest, 'other')}` : '');
}

const WHY: Record<string, string> = {
  NOT_PYTHON: 'The process is not a registered Python process, and its stack could not be read from outside.',
  STOPPED: 'The process was stopped by a signal or a debugger.',
  IN_KERNEL: 'The process is in an uninterruptible kernel call.',
  NO_ANSWER: 'No answer within a second; the version of the worker may be too old.',
  OFF: 'Stack sampling is disabled on the worker.',
  AWAY: 'The worker is disconnected; try again.',
  BUSY: 'The worker is already serving the maximum number of requests; try again.',
  UNKNOWN: 'The process has exited.',
};

// Returns an empty string if the text contains all threads.
export function whyNotWhole(state: string): string {
  return state === 'TAKEN' || state === 'NATIVE' ? '' : (WHY[state] ?? state);
}
