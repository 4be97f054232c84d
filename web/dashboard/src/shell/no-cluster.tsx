import { slow, store } from '../shared/page';
import { Panel } from '../shared/panel';
import { follow, picked } from '../shared/route';

// Shown instead of another cluster's data, which users would mistake for the unknown cluster's data.
export function NoCluster() {
  slow.value;
  return (
    <div class="panels">
      <Panel id="no-cluster" title="No such cluster" span={12}>
        <div role="status">
          <p class="calm text-error">
            There is no cluster{' '}
            <b class="wrap">
              <bdi>{picked.value}</bdi>
            </b>
            .
          </p>
          <p class="calm">Existing clusters:</p>
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
