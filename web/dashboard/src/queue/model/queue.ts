// Closures, gangs and programs that wait for workers, in the order in which they start.

import type { QueueEntry, QueuePage } from 'muster-rest';
import { count, pairs, plural, some } from '../../shared/model/format';

export type Entry = QueueEntry;
export type Totals = Omit<QueuePage, 'queue' | 'next_page_token'>;

// Names an entry in the address of the page.
export const entryKey = ({ kind, program, first, priority }: Entry): string => program ?? `${kind === 'gang' ? 'gang' : priority}-${first}`;

// Formats as "only on worker:3, zone=a, gpu=2". Empty if the closures need only their function.
export function needsText({ task, labels, resources }: NonNullable<Entry['needs']>): string {
  return [task && `only on ${task}`, pairs(labels), pairs(resources)].filter(Boolean).join(', ');
}

// Formats as "20 wanted, 2 free". The server omits numbers that it had no time to determine.
export function wantedText({ wanted, free }: Entry): string {
  return free === undefined ? `${count(wanted)} wanted` : `${count(wanted)} wanted, ${count(free)} free`;
}

// Formats as "on 3 workers with 12 slots".
export function workersText({ workers, slots, program }: Entry): string {
  if (workers === undefined) return 'workers not counted';
  if (workers === 0) return program ? 'no worker accepts its ranks' : 'no matching worker';
  return slots === undefined ? `on ${plural(workers, 'worker')}` : `on ${plural(workers, 'worker')} with ${plural(slots, 'slot')}`;
}

// Formats as "5,000 closures of". A gang is described by its ready members.
export function amountText({ kind, waiting = 0, ready = 0 }: Entry): string {
  return kind === 'gang' ? `${count(ready)} of ${plural(waiting, 'closure')} ready, of` : `${plural(waiting, 'closure')} of`;
}

export const functionsText = ({ functions = [] }: Entry): string => some(functions.map(({ name }) => name));

// Returns whether an entry can have more functions than those listed, because not all of its closures were examined.
export const moreFunctions = ({ functions = [], waiting = 0, examined = 0 }: Entry): boolean => examined < waiting && functions.length > 1;

// Answers how much waits and what happens next, in one sentence for each fact.
export function headline({ closures, closures_startable: able, programs }: Totals): string {
  const rest = closures - able;
  const sentences: string[] = [];
  if (closures > 0) {
    const start = able === closures ? (closures === 1 ? 'It starts' : 'They start') : `${count(able)} start${able === 1 ? 's' : ''}`;
    sentences.push(`${plural(closures, 'closure')} wait${closures === 1 ? 's' : ''} for a worker.`);
    if (able > 0) sentences.push(`${start} when slots become free.`);
    if (rest > 0) sentences.push(`No connected worker can run ${rest === closures ? (rest === 1 ? 'it' : 'them') : count(rest)}.`);
  }
  if (programs > 0) sentences.push(`${plural(programs, 'program')} wait${programs === 1 ? 's' : ''} for workers.`);
  return sentences.join(' ') || 'Nothing waits for a worker.';
}

// Names closures that wait for something other than a worker.
export function elsewhere({ blocked, delayed, sent_ahead: sent }: Totals): string {
  const parts = [
    blocked > 0 && `${plural(blocked, 'closure')} for inputs`,
    delayed > 0 && `${plural(delayed, 'closure')} for a start time or a retry`,
    sent > 0 && `${plural(sent, 'closure')} on the worker to which ${sent === 1 ? 'it was' : 'they were'} sent`,
  ].filter((part) => part !== false);
  return parts.length > 0 ? `Also waiting: ${parts.join('; ')}.` : '';
}
