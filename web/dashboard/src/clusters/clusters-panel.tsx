// The clusters of agents of this server, and how each is.

import { age, count, moment } from '../model/format';
import { connectedOf } from '../model/map-groups';
import { slow, store, viewNow } from '../page';
import { Bar } from '../parts/bar';
import { Panel } from '../parts/panel';
import type { ClusterRow } from '../model/protocol';
import { Mark, type Shape } from '../parts/shape';
import { address, follow, picked } from '../route';

const SHAPES: Record<ClusterRow['state'], Shape> = { WAITING: 'waiting', REGISTERING: 'restarting', RUNNING: 'connected', FAILED: 'error', FINISHED: 'disconnected' };

export function Clusters() {
  slow.value;
  const all = store.clusters.all().filter((c) => c.tasks > 0 && (!picked.value || c.name === picked.value));
  if (all.length === 0) return null;
  return (
    <Panel id="clusters" title="Clusters" note="of agents" span={12}>
      <div class="clusters-beside">
        {all.map((c) => (
          <Row key={c.name} cluster={c} />
        ))}
      </div>
    </Panel>
  );
}

function Row({ cluster: c }: { cluster: ClusterRow }) {
  const { late, error, registering, missing, disconnected, unheard = 0 } = c.agents;
  const connected = connectedOf(c.agents);
  const shape = c.ends ? 'restarting' : SHAPES[c.state];
  return (
    <div class="progress" data-testid="cluster-row" data-cluster={c.name} data-state={c.state}>
      <div class="progress-head">
        <a class="mono clip" href={address('/tasks', { cluster: c.name })} onClick={follow}>
          <bdi>{c.name}</bdi>
        </a>
        <span>
          {count(connected)} of {count(c.tasks)} connected
        </span>
      </div>
      <Bar
        parts={[
          { kind: 'ready', n: connected },
          { kind: 'late', n: late },
          { kind: 'error', n: error },
          { kind: 'waiting', n: registering + missing + unheard },
          { kind: 'cancelled', n: disconnected },
        ]}
        total={c.tasks}
      />
      <div class="progress-foot">
        <span class={`chip text-${shape === 'waiting' ? 'disconnected' : shape}`}>
          <Mark shape={shape} /> {c.ends ? 'ending' : c.state.toLowerCase()}
        </span>
        {late > 0 && <span class="text-late">{count(late)} late</span>}
        {error > 0 && <b class="text-error">{count(error)} in error</b>}
        {unheard > 0 && <span>{count(unheard)} not heard since the restart</span>}
        {missing + registering > 0 && <span>{count(missing + registering)} not here yet</span>}
        {c.barriers > 0 && (
          <a href={address('/barriers', { cluster: c.name })} onClick={follow}>
            {count(c.barriers)} waiting at barriers
          </a>
        )}
        {c.started > 0 && <time title={moment(c.started)}>run {count(c.generation)}, {age(viewNow() - c.started)}</time>}
      </div>
      {c.cause && (
        <p class="progress-error text-error" title={c.cause.message}>
          <bdi>
            {c.cause.task && `${c.cause.task}: `}
            {c.cause.message}
          </bdi>
        </p>
      )}
    </div>
  );
}
