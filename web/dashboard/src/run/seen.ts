// Timeline data that the WebSocket does not send.

import { useRef } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import type { MachineView } from './model/machines';
import { STRIPS_MAX } from './model/layout';
import type { AttemptDetail } from './model/attempt';
import { hostsOf, isOver } from '../shared/model/counts';
import type { AttemptView, ProgramView, RankView } from '../shared/model/programs';
import type { Range } from './model/timeline';
import type { JobView } from '../shared/model/views';
import { keepsHistory, viewNow } from '../shared/page';
import { api, get, Gone } from '../shared/rest';

const DETAILS = 12; // maximum number of attempts with details; for earlier attempts, only the times are drawn
export const SAMPLES = 720; // samples in an hour
export const SAMPLES_OF_MANY = 240; // samples in an hour if there are many hosts; limits the size of a response
const EVERY = 5000; // ms

export type Details = ReadonlyMap<number, AttemptDetail>;
const NOTHING: Details = new Map();

// Records of ended attempts are read only once.
export function useDetails(p: ProgramView, attempts: readonly AttemptView[]): Details {
  const kept = useRef(new Map<number, AttemptDetail>());
  const newest = attempts.slice(-DETAILS);
  const state = newest.map((a) => `${a.attempt}${a.end}`).join();
  const looked = useLooked<Details>(newest.length > 0 ? `${api(`programs/${encodeURIComponent(p.id)}/attempts`)}#${state}` : '', {
    every: EVERY,
    keep: true,
    over: () => isOver(p),
    async read(path) {
      for (const { attempt } of newest) {
        if (kept.current.get(attempt)?.ended_ms) continue;
        try {
          kept.current.set(attempt, await get<AttemptDetail>(`${path.split('#')[0]}/${attempt}`));
        } catch (error) {
          if (!(error instanceof Gone)) throw error;
        }
      }
      return new Map(kept.current);
    },
  });
  return looked.value ?? NOTHING;
}

export interface Machines {
  machines: readonly MachineView[];
  next_page_token?: string; // set if another page of attempts follows
}
const NONE: Machines = { machines: [] };

const BUCKETS = 300;
const SAMPLE_MS = 5000; // between two samples; a shorter range would contain none
const STORED_AFTER = 3 * SAMPLE_MS; // ms; until then, samples of the range can arrive

// Covers the time in which an ended program ran, if the server keeps history.
export function useMachines(p: ProgramView, ranks: readonly RankView[], range: Range | null): Machines {
  const few = hostsOf(ranks) <= STRIPS_MAX;
  const ran = isOver(p) ? { from: p.created_ms, to: p.finished_ms ?? 0 } : null;
  return useMachinesOf(ranks.length > 0 ? { cluster: p.cluster, program: p.id } : null, range ?? ran, few ? SAMPLES : SAMPLES_OF_MANY);
}

// Machines of the workers that run or ran closures of a job. The last part of a running job is read from memory.
export function useMachinesOfJob(job: JobView, range: Range | null): Machines {
  const ran = isOver(job) ? { from: job.created_ms, to: job.finished_ms } : null;
  return useMachinesOf({ job: job.id }, range ?? ran, SAMPLES_OF_MANY);
}

// Reads samples in the range from history. Otherwise, reads the newest samples, which every server has.
export function useMachinesOf(of: Readonly<Record<string, string>> | null, range: Range | null, samples: number): Machines {
  const newest: Record<string, string | number> = { ...of, samples };
  const past: Record<string, string | number> = range && keepsHistory() ? { ...of, from_ms: Math.floor(range.from) - SAMPLE_MS, to_ms: Math.ceil(range.to) + SAMPLE_MS, samples: BUCKETS } : newest;
  // The fragment starts a new request when the run ends, because the samples of its end can differ.
  const looked = useLooked<Machines>(of ? `${api('machines', past)}${range ? '#range' : ''}` : '', {
    every: EVERY,
    keep: true,
    over: () => range !== null && (!keepsHistory() || range.to < viewNow() - STORED_AFTER),
  });
  return looked.value ?? NONE;
}
