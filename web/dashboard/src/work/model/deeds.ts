// Actions on many runs. Each run counts as done, as skipped for a reason, or as refused by the server.

import { count } from '../../shared/model/format';
import { isOver } from '../../shared/model/counts';
import { nameOf, type Run } from './work';

const AT_ONCE = 6;
const NAMED = 3; // refusals that are named

export interface Report {
  done: number;
  skipped: ReadonlyMap<string, number>; // number of runs by reason
  refused: readonly string[];
}

// `act` resolves with the reason for which nothing was done; an empty reason means that the action was done.
export async function each(runs: readonly Run[], act: (run: Run) => Promise<string>): Promise<Report> {
  let done = 0;
  const skipped = new Map<string, number>();
  const refused: string[] = [];
  const left = [...runs];
  const work = async () => {
    for (let run = left.shift(); run; run = left.shift())
      try {
        const why = await act(run);
        if (why) skipped.set(why, (skipped.get(why) ?? 0) + 1);
        else ++done;
      } catch (error) {
        refused.push(`${nameOf(run)}: ${error instanceof Error ? error.message : String(error)}`);
      }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, skipped, refused };
}

// Formats as "7 cancelled, 1 had already ended, 1 refused (etl: token 'a' does not own it)".
export function reportLine({ done, skipped, refused }: Report, word: string): string {
  const parts = [`${count(done)} ${word}`, ...[...skipped].map(([why, n]) => `${count(n)} ${why}`)];
  if (refused.length > 0) {
    const more = refused.length > NAMED ? `; and ${count(refused.length - NAMED)} more` : '';
    parts.push(`${count(refused.length)} refused (${refused.slice(0, NAMED).join('; ')}${more})`);
  }
  return parts.join(', ');
}

export const ALREADY = 'had already ended';
export const cancelPath = ({ kind, id }: Run): string => `${kind === 'program' ? 'programs' : 'jobs'}/${encodeURIComponent(id)}/cancel`;

// Returns the reason for which a run cannot be retried; empty if it can.
export function notRetried(run: Run): string {
  if (run.kind !== 'job') return run.kind === 'session' ? 'not retried: sessions are repeated by their client' : 'not retried: programs are started again with muster launch';
  if (!isOver(run)) return 'not retried: still unfinished';
  if (!run.counts.failed) return 'without failed closures';
  return run.retryable ? '' : 'not retried: the arguments are no longer stored';
}

// Returns the run to open and the run to compare with it: the newer run comes first.
export function compared(a: Run, b: Run): [run: Run, with_: Run] {
  return a.created_ms >= b.created_ms ? [a, b] : [b, a];
}
