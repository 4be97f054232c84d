// What the timeline needs beside what the WebSocket tells of a program: the records of its attempts, and its machines.

import { useRef } from 'preact/hooks';
import { useLooked } from '../looked';
import type { MachineView } from '../model/machines';
import { STRIPS_MAX } from '../model/run/layout';
import type { AttemptDetail } from '../model/rest/attempt';
import { over, type AttemptView, type ProgramView, type RankView } from '../model/rest/programs';
import { api, get, Gone } from '../rest';

const DETAILS = 12; // attempts, the newest; of those before only the attempt's own times are drawn
const SAMPLES = 720; // an hour
const EVERY = 5000; // ms

export type Details = ReadonlyMap<number, AttemptDetail>;
const NOTHING: Details = new Map();

// Records of attempts that are over are asked for once.
export function useDetails(p: ProgramView, attempts: readonly AttemptView[]): Details {
  const kept = useRef(new Map<number, AttemptDetail>());
  const newest = attempts.slice(-DETAILS);
  const state = newest.map((a) => `${a.attempt}${a.end}`).join();
  const looked = useLooked<Details>(newest.length > 0 ? `${api(`programs/${encodeURIComponent(p.id)}/attempts`)}#${state}` : '', {
    every: EVERY,
    keep: true,
    over: () => over(p),
    async read(path) {
      for (const { attempt } of newest) {
        if (kept.current.get(attempt)?.ended_ms) continue;
        try {
          kept.current.set(attempt, await get<AttemptDetail>(`${path.split('#')[0]}/${attempt}`));
        } catch (error) {
          if (!(error instanceof Gone)) throw error; // not kept any more
        }
      }
      return new Map(kept.current);
    },
  });
  return looked.value ?? NOTHING;
}

const NONE: readonly MachineView[] = [];

// Of one worker a host: those of a host see the same machine. Of many hosts none: there is no room for their strips.
export function useMachines(p: ProgramView, ranks: readonly RankView[]): readonly MachineView[] {
  const byHost = new Map(ranks.map((r) => [r.host, r.worker]));
  const workers = byHost.size <= STRIPS_MAX ? [...byHost.values()].sort() : [];
  const looked = useLooked<readonly MachineView[]>(workers.length > 0 ? `${api('machines', { cluster: p.cluster, samples: SAMPLES })}#${workers.join()}` : '', {
    every: 2 * EVERY,
    keep: true,
    over: () => over(p),
    async read(path) {
      const [base, tasks = ''] = path.split('#');
      const all = await Promise.all(tasks.split(',').map((task) => get<{ machines: MachineView[] }>(`${base}&task=${encodeURIComponent(task)}`)));
      return all.flatMap(({ machines }) => machines);
    },
  });
  return looked.value ?? NONE;
}
