// What runs in the slots of a worker, and its process.

import type { WorkerClosures } from 'muster-rest';
import { age, bytes, clock, count, moment, plural } from '../shared/model/format';
import { JobLink, Link } from '../shared/link';
import { useLooked } from '../shared/looked';
import { slow, viewNow } from '../shared/page';
import { api } from '../shared/rest';
import { closureAddress } from '../shared/route';
import { splitTask } from '../shared/model/commands';
import type { Worker } from './model/fleet';

const SHOWN = 16;

export const pathOf = (cluster: string, task: string): string => {
  const [job, index] = splitTask(task);
  return `clusters/${encodeURIComponent(cluster)}/tasks/${encodeURIComponent(job)}/${encodeURIComponent(index || '0')}`;
};

export function Slots({ w }: { w: Worker }) {
  slow.value;
  const looked = useLooked<WorkerClosures>(api(`${pathOf(w.cluster, w.task)}/closures`), { every: 1000 });
  const held = looked.value;
  const running = held?.running ?? [];
  const free = Math.max(0, w.slots - w.running);
  return (
    <ul class="slots" data-testid="slots">
      {looked.problem && <li class="text-error">{looked.problem}</li>}
      {running.slice(0, SHOWN).map((c, n) => (
        <li key={c.id} data-testid="slot">
          <span class="soft">slot {n + 1}</span>{' '}
          <Link to={closureAddress(c.id, c.job)}>
            <bdi>
              {c.function} #{count(c.index)}
            </bdi>
          </Link>{' '}
          <span title={moment(c.since_ms)}>
            for {age(viewNow() - c.since_ms)}, since {clock(c.since_ms)}
          </span>{' '}
          {c.job && <JobLink id={c.job} />}
        </li>
      ))}
      {running.length > SHOWN && <li class="soft">and {plural(running.length - SHOWN, 'more running closure')}</li>}
      {held && free > 0 && (
        <li class="soft" data-testid="slots-free">
          {plural(free, 'slot')} free
        </li>
      )}
      {held && held.sent_ahead.length > 0 && <li class="soft">{plural(w.sent_ahead, 'closure')} queued on this worker</li>}
      <li data-testid="process">
        <span class="soft">process</span> {w.pid || 'unknown'}
        {w.process_memory_bytes !== undefined && <>, {bytes(w.process_memory_bytes)} of memory</>}
        <span class="soft" title={moment(w.since_ms)}>
          , {w.state.toLowerCase()} since {clock(w.since_ms)}
        </span>
      </li>
    </ul>
  );
}
