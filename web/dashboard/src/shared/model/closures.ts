import { bare } from './ansi';
import { isOver, retryableOf } from './counts';
import { percent, plural } from './format';
import type { ClosureState, ClosureView, Counts, Failure } from './views';
import type { Shape } from './shape';

export const CLOSURE_SHAPES: Record<ClosureState, Shape> = {
  BLOCKED: 'waiting',
  QUEUED: 'waiting',
  RUNNING: 'running',
  SUCCEEDED: 'connected',
  FAILED: 'error',
  CANCELLED: 'disconnected',
};

export const hasEnded = (c: ClosureView): boolean => c.finished_ms > 0 || isOver(c);

// Functions of a script are in the module __main__, which says nothing.
export const functionName = (name: string): string => name.replace(/^__main__\./, '');

export const nameOf = (c: ClosureView): string => functionName(c.display_name ?? c.function);

// Returns the worker that runs the closure, ran it last, or has it in its queue.
export function whereOf(c: ClosureView): string {
  return c.sent_to ?? c.attempts.at(-1)?.worker ?? c.error?.worker ?? '';
}

// Returns the waiting time before the first execution. `to` is the end if the closure never ran, and 0 while the closure is
// waiting.
export function waited(c: ClosureView): { from: number; to: number } {
  return { from: c.created_ms, to: c.attempts[0]?.started_ms || c.finished_ms };
}

interface Stretch {
  from: number; // Unix ms
  to: number;
  us?: number | undefined; // exact duration, if the server measured it
}

export function ran(c: ClosureView): Stretch {
  const last = c.attempts.at(-1);
  return last ? { from: last.started_ms, to: last.ended_ms || (hasEnded(c) ? c.finished_ms : 0), ...(last.took_us !== undefined && { us: last.took_us }) } : { from: 0, to: 0 };
}

// Returns the first line of an error. For a traceback, returns the last line, which names the error.
export function failureLine(error: Failure): string {
  const line = lineOf(error.message) || error.kind;
  return error.type && !line.startsWith(error.type) ? `${error.type}: ${line}` : line;
}

export function lineOf(message: string): string {
  const lines = bare(message)
    .split('\n')
    .filter((line) => line.trim() !== '');
  return (lines[0]?.startsWith('Traceback (') ? lines.at(-1) : lines[0]) ?? '';
}

// The most severe reason takes precedence.
export function remark(c: ClosureView): string {
  if (c.error) return failureLine(c.error);
  if (c.cancel_requested && !hasEnded(c)) return 'asked to stop';
  if (c.progress && !hasEnded(c)) return `${percent(c.progress.fraction, 1)} ${c.progress.text}`.trim();
  if (c.sent_to) return `prefetched to ${c.sent_to}, waiting for a free slot there`;
  if (c.state === 'BLOCKED') return `waiting for ${c.inputs_missing === undefined ? 'inputs' : plural(c.inputs_missing, 'input')}`;
  if (c.gang && c.state === 'QUEUED') return `waiting for its gang ${c.gang}`;
  return c.value_released ? `value released: ${c.value_released}` : '';
}

const FILTERS = [
  ['', 'all', (c: Counts) => c.total],
  ['UNFINISHED', 'unfinished', (c: Counts) => c.blocked + c.queued + c.running],
  ['BLOCKED', 'blocked', (c: Counts) => c.blocked],
  ['QUEUED', 'queued', (c: Counts) => c.queued],
  ['RUNNING', 'running', (c: Counts) => c.running],
  ['SUCCEEDED', 'succeeded', (c: Counts) => c.succeeded],
  ['FAILED', 'failed', (c: Counts) => c.failed],
  ['CANCELLED', 'cancelled', (c: Counts) => c.cancelled],
] as const;

// Returns filters that match closures, and the selected filter.
export function stateFilters(counts: Counts, now: string): [value: string, word: string, n: number][] {
  const found = FILTERS.map(([value, word, n]) => [value, word, n(counts)] as [string, string, number]);
  if (now === 'ENDED_BADLY') found.push(['ENDED_BADLY', 'failed or cancelled', retryableOf(counts)]);
  return found.filter(([value, , n]) => n > 0 || value === '' || value === now);
}
