import { cluster, slow, store } from '../page';
import { Panel } from '../parts/panel';
import { choose, follow, page, picked } from '../route';

// Which cluster the page is about. All pages obey it, and it goes along from page to page; a page that can only be about
// one shows which. There is nothing to pick when there is one.
export function ClusterPicker() {
  slow.value;
  const all = store.clusters.all();
  const now = cluster();
  if (all.length === 0 || (all.length < 2 && !picked.value)) return null;
  const one = page.value.cluster === true;
  const value = one ? (now?.name ?? '') : picked.value;
  const named = all.some((c) => c.name === value);
  return (
    <label class="picker">
      <span class="note">Cluster</span>
      {/* Drawn anew when there are others: a select that had no such option yet would stay blank. */}
      <select key={all.length} data-testid="cluster-picker" value={value} onChange={(event) => choose({ cluster: event.currentTarget.value, page: '', at: '' })}>
        {!one && <option value="">All clusters</option>}
        {value && !named && <option value={value}>{value}</option>}
        {all.map((c) => (
          <option key={c.name} value={c.name}>
            {c.state === 'FAILED' ? '✕ ' : ''}
            {c.name}
          </option>
        ))}
      </select>
    </label>
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
