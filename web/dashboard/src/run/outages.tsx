import { outagesIn, outagesOf, type Outage } from './model/outages';
import type { Range } from './model/timeline';
import type { Events } from 'muster-rest';
import { useLooked } from '../shared/looked';
import { api, get } from '../shared/rest';

const EVERY = 10_000; // ms
const LIMIT = 100;
const NONE: readonly Outage[] = [];

// The server keeps the newest 10,000 events in memory, and restores them. A server that started once answers with none.
export function useOutages(over: boolean): readonly Outage[] {
  const looked = useLooked<readonly Outage[]>(api('events', { kind: 'server_started', limit: LIMIT }), {
    every: EVERY,
    over: () => over,
    read: async (asked) => outagesOf((await get<Events>(asked)).events),
  });
  return looked.value ?? NONE;
}

// Boxes over the lanes. The list of events below the lanes has the same texts.
export function Outages({ all, view }: { all: readonly Outage[]; view: Range }) {
  return (
    <>
      {outagesIn(all, view).map(({ left, width, text }, n) => (
        <span key={n} class={left > 0.8 ? 'run-outage is-end' : 'run-outage'} data-testid="run-outage" title={text} style={{ left: `${100 * left}%`, width: `${100 * width}%` }}>
          <span>server restart</span>
        </span>
      ))}
    </>
  );
}
