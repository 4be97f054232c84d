import { fares, health, workersByPool, type Workers } from '../shared/model/cluster-health';
import { age, count, moment, plural } from '../shared/model/format';
import { clusterName, slow, store, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import type { ClusterRow } from '../shared/model/protocol';
import { Chip } from '../shared/shape';
import { address, follow, picked } from '../shared/route';

const SHOWN = 6;

export function Clusters() {
  slow.value;
  const workers = workersByPool(store.tasks);
  const of = (c: ClusterRow) => workers.get(c.main ? '' : c.name);
  const all = store.clusters.all().filter((c) => fares(c, of(c)).total > 0 && (!picked.value || c.name === picked.value));
  if (all.length === 0) return null;
  const unwell = (c: ClusterRow) => Number(health(c, fares(c, of(c)))[0] === 'connected');
  const shown = [...all].sort((a, b) => unwell(a) - unwell(b)).slice(0, SHOWN);
  return (
    <Panel id="clusters" title="Clusters" span={4}>
      <ul class="clusters">
        {shown.map((c) => (
          <Row key={c.name} cluster={c} workers={of(c)} />
        ))}
      </ul>
      {all.length > SHOWN && (
        <p class="foot">
          <a href={address('/agreement')} onClick={follow}>
            {count(all.length - SHOWN)} more
          </a>
        </p>
      )}
    </Panel>
  );
}

// The cause of a failed run is in its alert.
function Row({ cluster: c, workers }: { cluster: ClusterRow; workers: Workers | undefined }) {
  const f = fares(c, workers);
  const [shape, word] = health(c, f);
  return (
    <li data-testid="cluster-row" data-cluster={c.name} data-state={c.state} data-health={shape}>
      <span class="cluster-head">
        <Chip shape={shape} colour={`text-${shape === 'waiting' ? 'disconnected' : shape}`}>
          <a class="clip" title={c.name} href={address('/fleet', { cluster: c.name })} onClick={follow}>
            <bdi>{clusterName(c.name)}</bdi>
          </a>
        </Chip>
        <span>
          {count(f.connected)} of {count(f.total)} connected
        </span>
      </span>
      <span class="cluster-foot soft">
        <span>{word}</span>
        {f.late > 0 && f.error > 0 && <span class="text-late">{count(f.late)} late</span>}
        {workers && <span>{plural(workers.total, 'closure worker')}</span>}
        {c.barriers > 0 && (
          <a href={address('/agreement', { cluster: c.name })} onClick={follow}>
            {plural(c.barriers, 'running barrier')}
          </a>
        )}
        {c.started > 0 && (
          <time title={moment(c.started)}>
            run {count(c.generation)}, {age(viewNow() - c.started)}
          </time>
        )}
      </span>
    </li>
  );
}
