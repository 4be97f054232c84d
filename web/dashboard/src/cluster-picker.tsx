import { cluster, slow, store } from './page';
import { Panel } from './parts/panel';
import { choose, follow, picked } from './route';

// Which cluster the page is about; there is nothing to pick when there is one.
export function ClusterPicker() {
  slow.value;
  const all = store.clusters.all();
  const now = cluster();
  if (!now || (all.length < 2 && !picked.value)) return null;
  return (
    <div class="picker">
      <span class="note" aria-hidden="true">cluster</span>
      <select aria-label="Cluster" data-testid="cluster-picker" value={now.name} onChange={(event) => choose({ cluster: event.currentTarget.value })}>
        {all.map((c) => (
          <option key={c.name} value={c.name}>
            {c.name}
          </option>
        ))}
      </select>
    </div>
  );
}

// Another cluster's data under the name that was asked for would be believed.
export function NoCluster() {
  slow.value;
  return (
    <div class="panels">
      <Panel id="no-cluster" title="No such cluster" span={12}>
        <div role="status">
          <p class="calm text-error">
            There is no cluster <b class="wrap"><bdi>{picked.value}</bdi></b>.
          </p>
          <p class="calm">These are:</p>
          <ul class="names" data-testid="clusters">
            {store.clusters.all().map((c) => (
              <li key={c.name}>
                <a href={`?cluster=${encodeURIComponent(c.name)}`} onClick={follow}>
                  <bdi>{c.name}</bdi>
                </a>
              </li>
            ))}
          </ul>
        </div>
      </Panel>
    </div>
  );
}
