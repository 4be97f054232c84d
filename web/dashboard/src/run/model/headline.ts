// One sentence with the state of a run and its cause.

import { failureLine } from '../../shared/model/closures';
import { age, count, plural } from '../../shared/model/format';
import { reason, verdict, type Cause, type ProgramView, type RankView } from '../../shared/model/programs';
import { endedOf } from '../../shared/model/counts';
import type { JobView } from '../../shared/model/views';

// Returns for example "rank 3 on worker:1 (vm)". After a restart, the rank can be on another host than the one that failed; if so, only
// the host is named.
function placeOf(rank: number, host: string, ranks: readonly RankView[]): string {
  const at = ranks.find((r) => r.rank === rank);
  const named = host || at?.host || '';
  const on = at?.host === named ? at.worker : '';
  if (!on) return named ? `rank ${rank} on host ${named}` : `rank ${rank}`;
  return `rank ${rank} on ${on}${named ? ` (${named})` : ''}`;
}

export function causeText(cause: Cause, ranks: readonly RankView[]): string {
  if (cause.rank === undefined) return cause.text;
  const place = placeOf(cause.rank, cause.host ?? '', ranks);
  switch (cause.kind) {
    case 'EXIT_STATUS':
      return `${place} exited with status ${cause.exit_status ?? 1}`;
    case 'SIGNAL':
      return `${place} was killed by signal ${cause.signal ?? 0}`;
    case 'OUT_OF_MEMORY':
      return `${place} ran out of memory`;
    default:
      return cause.text;
  }
}

const unstopped = (text: string): string => text.replace(/\.$/, '');

export function programHeadline(p: ProgramView, ranks: readonly RankView[], now: number): string {
  const again = p.restarts > 0 ? ` after ${plural(p.restarts, 'restart')}` : '';
  if (p.state === 'FAILED') return `Failed${again}: ${unstopped(p.cause ? causeText(p.cause, ranks) : reason(p) || 'the cause is unknown')}`;
  if (p.state === 'RUNNING' && p.hang && !p.lost_workers?.length) return `Hangs for ${age(now - p.hang.since_ms)}: ${unstopped(p.hang.text.replace(/; detected after [^;]*$/, ''))}`;
  return unstopped(verdict(p));
}

export function jobHeadline(job: JobView, now: number): string {
  const { counts } = job;
  const done = endedOf(counts);
  const failed = counts.failed > 0 ? `, ${count(counts.failed)} failed` : '';
  const took = age((job.finished_ms || now) - job.created_ms);
  const cancelled = counts.cancelled > 0 ? `, ${count(counts.cancelled)} cancelled` : '';
  switch (job.state) {
    case 'SUCCEEDED':
      return `Succeeded: ${plural(counts.total, 'call')} in ${took}${failed}`;
    case 'FAILED': {
      const why = job.error ? failureLine(job.error) : `${plural(counts.failed, 'call')} failed`;
      return `Failed: ${unstopped(why)} (${count(counts.failed)} of ${plural(counts.total, 'call')} failed${cancelled})`;
    }
    case 'CANCELLED':
      return `Cancelled after ${took}: ${count(counts.succeeded)} of ${plural(counts.total, 'call')} had succeeded${failed}`;
    default:
      if (counts.total === 0) return job.streaming ? 'Open: no calls yet' : 'Waiting: no calls yet';
      if (job.streaming && done === counts.total) return `Open: all ${plural(counts.total, 'call')} ended${failed}`;
      return `${counts.running > 0 ? 'Running' : 'Waiting'}: ${count(done)} of ${plural(counts.total, 'call')} ended${failed}`;
  }
}
