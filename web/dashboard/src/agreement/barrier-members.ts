// Reads the arrival times at running barriers over REST. The WebSocket contains only counts and the first missing
// tasks.

import { useLooked } from '../shared/looked';
import type { BarrierView } from './model/barrier-view';
import type { BarrierRow } from '../shared/model/protocol';
import { api, get, Gone } from '../shared/rest';

const BARRIERS = 10; // maximum number of barriers per cluster that show members; further barriers show only counts
const MEMBERS = 1000;
const EVERY = 5000; // ms; a new arrival triggers an immediate request

const NONE: readonly BarrierView[] = [];

export function useBarrierMembers(rows: readonly BarrierRow[]): readonly BarrierView[] {
  const asked = rows.filter((b) => b.state === 'RUNNING' && b.of <= MEMBERS).slice(0, BARRIERS);
  const base = asked.length > 0 ? api(`clusters/${encodeURIComponent(asked[0]!.cluster)}/barriers`) : '';
  const state = asked.map((b) => `${encodeURIComponent(b.id)}/${b.counter}/${b.arrived}`).join();
  const looked = useLooked<readonly BarrierView[]>(base && `${base}#${state}`, {
    every: EVERY,
    keep: true,
    async read(path) {
      const [all = ''] = path.split('#');
      const found = await Promise.all(asked.map((b) => get<BarrierView>(`${all}/${encodeURIComponent(b.id)}`).catch((error: unknown) => (error instanceof Gone ? null : Promise.reject(error)))));
      return found.filter((b) => b !== null && b.state === 'RUNNING') as BarrierView[];
    },
  });
  return base ? (looked.value ?? NONE) : NONE;
}
