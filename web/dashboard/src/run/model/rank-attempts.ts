import type { RankView } from '../../shared/model/programs';
import { endOf } from '../../shared/model/programs';
import type { AttemptDetail } from './attempt';

export interface RankAttempt {
  attempt: number;
  host: string;
  from: number;
  to: number; // 0 while the rank runs
  outcome: string;
  failed: boolean;
}

// Lists the attempts of one rank, newest first. The records of attempts do not contain all ranks of a large program.
export function rankAttempts(details: ReadonlyMap<number, AttemptDetail>, r: RankView): RankAttempt[] {
  const all = [...details.values()].sort((a, b) => b.attempt - a.attempt);
  return all.flatMap((d, n): RankAttempt[] => {
    const ended = d.ended.find(({ rank }) => rank === r.rank);
    if (ended) {
      const how = ended.not_started ? `not started: ${ended.not_started}` : ended.stopped ? 'stopped' : ended.signal ? `signal ${ended.signal}` : `exit ${ended.exit_status ?? 0}`;
      const failed = !ended.stopped && (!!ended.not_started || !!ended.signal || !!ended.exit_status);
      return [{ attempt: d.attempt, host: ended.host, from: ended.started_ms || d.begun_ms, to: ended.ended_ms, outcome: how, failed }];
    }
    if (n > 0 || !r.started_ms) return [];
    return [{ attempt: d.attempt, host: r.host, from: r.started_ms, to: r.ended_ms ?? 0, outcome: endOf(r) || 'runs', failed: r.state === 'FAILED' }];
  });
}
