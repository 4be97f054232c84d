import { Attention, Verdict } from './alerts-panel';
import { Clusters } from './clusters-panel';
import { Figures } from './figures';
import type { SamplesBody } from './model/points';
import { Timeline } from './timeline';
import { useLooked } from '../shared/looked';
import { slow, store } from '../shared/page';
import { api } from '../shared/rest';
import { NoTask } from './no-task';

const EVERY_MS = 10_000;

// The first page: everything on it fits one screen of a desk, and two of a phone.
export function Overview() {
  slow.value;
  const looked = useLooked<SamplesBody>(api('samples', { span: '1h' }), { every: EVERY_MS, keep: true });
  const empty = store.counters !== null && store.tasks.size === 0 && store.clusters.all().every((c) => c.tasks === 0) && store.jobs().length === 0;
  return (
    <div class="panels now">
      <Verdict />
      <Figures lastHour={looked.value} />
      {empty ? <NoTask /> : <Timeline lastHour={looked.value} />}
      <Attention />
      <Clusters />
    </div>
  );
}
