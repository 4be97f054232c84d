// Selects the cluster that all pages show. Links preserve the selection. Pages of a single cluster show only its name.
// The control is hidden if there is only one cluster.

import { useRef } from 'preact/hooks';
import { fares, health } from '../shared/model/cluster-health';
import { count, short } from '../shared/model/format';
import type { ClusterRow } from '../shared/model/protocol';
import { cluster, clusterName, paletteOpen, slow, store } from '../shared/page';
import { Mark } from '../shared/shape';
import { choose, page, picked } from '../shared/route';

const FEW = 4; // clusters that are shown without a click
const SHOWN = 30;
const MANY = 1000; // from this number of tasks on, "1,151/1,200" would leave no room for the name

export function ClusterSwitch() {
  slow.value;
  const menu = useRef<HTMLDetailsElement>(null);
  const all = store.clusters.all();
  const now = cluster();
  if (all.length === 0 || (all.length < 2 && !picked.value)) return null;
  const one = page.value.cluster === true;
  const value = one ? (now?.name ?? '') : picked.value;
  const few = all.length <= FEW;
  const take = (name: string) => {
    choose({ cluster: name, page: '', at: '' });
    if (!few && menu.current) menu.current.open = false;
  };
  const known = all.find((c) => c.name === value);
  const shown = [...all.slice(0, SHOWN), ...(known && all.indexOf(known) >= SHOWN ? [known] : [])];
  return (
    <details ref={menu} class="switch" open={few} data-testid="cluster-switch" data-cluster={value}>
      <summary>
        <span class="rail-group">Cluster</span>
        <span class="switch-now">
          {known && <Health of={known} />}
          <bdi class="clip">{clusterName(value) || 'All clusters'}</bdi>
        </span>
      </summary>
      <ul>
        {!one && (
          <li>
            <button type="button" aria-pressed={value === ''} data-testid="cluster-choice" data-cluster="" onClick={() => take('')}>
              <span class="mark" /> All clusters
            </button>
          </li>
        )}
        {shown.map((c) => (
          <li key={c.name}>
            <Choice of={c} chosen={c.name === value} take={take} />
          </li>
        ))}
        {all.length > shown.length && (
          <li>
            <button type="button" onClick={() => (paletteOpen.value = true)}>
              {count(all.length - shown.length)} more: search
            </button>
          </li>
        )}
      </ul>
    </details>
  );
}

// The counters contain only the main cluster's workers. The workers of other clusters require the `tasks` topic.
function stateOf(c: ClusterRow) {
  return fares(c, c.main ? store.counters?.tasks : undefined);
}

function Health({ of }: { of: ClusterRow }) {
  return <Mark shape={health(of, stateOf(of))[0]} />;
}

function Choice({ of, chosen, take }: { of: ClusterRow; chosen: boolean; take(name: string): void }) {
  const f = stateOf(of);
  const [shape, word] = health(of, f);
  const empty = f.total === 0 && of.has_workers ? 'closure workers' : word;
  return (
    <button type="button" aria-pressed={chosen} title={`${of.name}: ${empty}`} data-testid="cluster-choice" data-cluster={of.name} data-health={shape} onClick={() => take(of.name)}>
      <Mark shape={shape} /> <bdi class="clip">{clusterName(of.name)}</bdi>
      <span class="unseen">, {empty}</span>
      {f.total > 0 && (
        <span class="badge" aria-hidden="true">
          {f.connected === f.total || f.total >= MANY ? short(f.total) : `${count(f.connected)}/${count(f.total)}`}
        </span>
      )}
    </button>
  );
}
