// Requests as many buckets as users can distinguish.

import { useLooked } from '../shared/looked';
import { bucketsFor, joinedSteps, NO_STEPS, RANKS_MAX, type RunSteps, type TimelineBody } from './model/steps';
import type { Range } from './model/timeline';
import { isOver } from '../shared/model/counts';
import type { ProgramView } from '../shared/model/programs';
import { viewNow } from '../shared/page';
import { api, get, Gone } from '../shared/rest';

const EVERY = 5000; // ms
const ANSWERS = 8; // maximum for each request, because each response can be incomplete
const LATE = 2000; // ms; responses that end this close to the current time are complete

// If `range` is null, reads the whole run, which grows.
export function useSteps(p: ProgramView, ranks: number, range: Range | null): RunSteps {
  const path = `programs/${encodeURIComponent(p.id)}/timeline`;
  const of = { ranks: Math.min(RANKS_MAX, ranks), buckets: bucketsFor(ranks), from_ms: range ? Math.floor(range.from) : '', to_ms: range ? Math.ceil(range.to) : '' };
  const looked = useLooked<RunSteps>(p.attempt > 0 && ranks > 0 ? api(path, of) : '', {
    every: EVERY,
    keep: true,
    over: () => isOver(p) || range !== null,
    async read() {
      const end = Math.min(range?.to ?? Infinity, p.finished_ms || viewNow()) - LATE;
      let all = NO_STEPS;
      for (let n = 0; n < ANSWERS; ++n) {
        try {
          const body = await get<TimelineBody>(api(path, n === 0 ? of : { ...of, from_ms: Math.floor(all.until) }));
          all = joinedSteps(all, body);
          if (body.until_ms >= end || body.until_ms <= body.from_ms) break;
        } catch (error) {
          if (error instanceof Gone) break;
          throw error;
        }
      }
      return all;
    },
  });
  return looked.value ?? NO_STEPS;
}
