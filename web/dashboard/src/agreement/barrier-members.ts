// Reads the arrival times at running barriers over REST. The WebSocket contains only counts and the first missing
// tasks.

import { useRef } from 'preact/hooks';
import { useLooked } from '../shared/looked';
import type { BarrierView } from './model/barrier-view';
import type { BarrierRow } from '../shared/model/protocol';
import { api, get, Gone } from '../shared/rest';

const BARRIERS = 10; // maximum number of barriers that show members; further barriers show only counts
const MEMBERS = 1000;
const EVERY = 5000; // ms; a new arrival triggers an immediate request

type Known = BarrierView & { cluster: string };
const NONE: readonly Known[] = [];

async function read({ cluster, id }: BarrierRow): Promise<Known | null> {
  try {
    return { ...(await get<BarrierView>(api(`clusters/${encodeURIComponent(cluster)}/barriers/${encodeURIComponent(id)}`))), cluster };
  } catch (error) {
    if (error instanceof Gone) return null;
    throw error;
  }
}

const keyOf = (b: BarrierRow): string => [b.cluster, b.id, b.counter, b.arrived].map(encodeURIComponent).join('/');

export function useBarrierMembers(rows: readonly BarrierRow[]): readonly Known[] {
  const asked = rows.filter((b) => b.state === 'RUNNING' && b.of <= MEMBERS).slice(0, BARRIERS);
  const last = useRef({ path: '', answers: new Map<string, Promise<Known | null>>() });
  const looked = useLooked<readonly Known[]>(asked.map(keyOf).join(), {
    every: EVERY,
    keep: true,
    // A new arrival at one barrier reads only this barrier; the same path means that the time has passed.
    async read(path) {
      const before = last.current.path === path ? new Map<string, Promise<Known | null>>() : last.current.answers;
      const answers = new Map(asked.map((row) => [keyOf(row), before.get(keyOf(row)) ?? read(row)]));
      last.current = { path, answers };
      try {
        return (await Promise.all(answers.values())).filter((b) => b !== null && b.state === 'RUNNING') as Known[];
      } catch (error) {
        last.current.answers = new Map();
        throw error;
      }
    },
  });
  return asked.length > 0 ? (looked.value ?? NONE) : NONE;
}
