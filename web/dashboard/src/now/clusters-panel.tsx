import { fares, health, workersByPool, type Workers } from '../shared/model/cluster-health';
import { age, count, moment, plural } from '../shared/model/format';
import { slow, store, viewNow } from '../shared/page';
import { Bar } from '../shared/bar';
import { Panel } from '../shared/panel';
import type { ClusterRow } from '../shared/model/protocol';
import { Chip } from '../shared/shape';
import { address, follow, picked } from '../shared/route';

export function Clusters() {
  slow.value;
  const workers = workersByPool(store.tasks);
  const of = (c: ClusterRow) => workers.get(c.main ? '' : c.name);
  const all = store.clusters.all().filter((c) => fares(c, of(c)).total > 0 && (!picked.value || c.name === picked.value));
  if (all.length === 0) return null;
  return (
    <Panel id="clusters" title="Clusters" span={12}>
      <div class="clusters-beside">
        {all.map((c) => (
          <Row key={c.name} cluster={c} workers={of(c)} />
        ))}
      </div>
    </Panel>
  );
}

function Row({ cluster: c, workers }: { cluster: ClusterRow; workers: Workers | undefined }) {
  const f = fares(c, workers);
  const [shape, word] = health(c, f);
  return (
    <div class="progress" data-testid="cluster-row" data-cluster={c.name} data-state={c.state} data-health={shape}>
      <div class="progress-head">
        <Chip shape={shape} colour={`text-${shape === 'waiting' ? 'disconnected' : shape}`}>
          <a class="mono clip" href={address('/fleet', { cluster: c.name })} onClick={follow}>
            <bdi>{c.name}</bdi>
          </a>
        </Chip>
        <span>
          {count(f.connected)} of {count(f.total)} connected
        </span>
      </div>
      <Bar
        parts={[
          { kind: 'ready', n: f.connected },
          { kind: 'late', n: f.late },
          { kind: 'error', n: f.error },
          { kind: 'waiting', n: f.coming + f.unheard },
          { kind: 'cancelled', n: f.gone },
        ]}
        total={f.total}
      />
      <div class="progress-foot">
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
