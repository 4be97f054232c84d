import { cluster, slow, store } from './page';
import { address, go, page, picked } from './route';

// Which cluster the page is about; there is nothing to pick when there is one.
export function ClusterPicker() {
  slow.value;
  const all = store.clusters.all();
  const now = cluster();
  if (!now || (all.length < 2 && !picked.value)) return null;
  const choose = (name: string) => {
    picked.value = name;
    go(address(page.value.path));
  };
  return (
    <div class="picker">
      <span class="note" aria-hidden="true">cluster</span>
      <select aria-label="Cluster" data-testid="cluster-picker" value={now.name} onChange={(event) => choose(event.currentTarget.value)}>
        {all.map((c) => (
          <option key={c.name} value={c.name}>
            {c.name}
          </option>
        ))}
      </select>
    </div>
  );
}
