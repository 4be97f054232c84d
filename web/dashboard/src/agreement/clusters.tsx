// One line a cluster: members, running barriers, and the last failure. A click shows only its barriers.

import { fares, health } from '../shared/model/cluster-health';
import { age, count, plural } from '../shared/model/format';
import { clusterName, slow, store, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { Chip } from '../shared/shape';
import { Table } from '../shared/table';
import { address, choose, follow, picked } from '../shared/route';

const SHOWN = 20;

export function ClusterLines() {
  slow.value;
  const all = [...store.clusters.all()].sort((a, b) => b.barriers - a.barriers || (a.name < b.name ? -1 : 1)).filter((c) => !picked.value || c.name === picked.value);
  if (all.length === 0) return null;
  return (
    <Panel
      id="agreeing"
      title="Clusters"
      span={12}
      aside={
        picked.value ? (
          <button type="button" class="plain" data-testid="all-clusters" onClick={() => choose({ cluster: '' })}>
            Show all clusters
          </button>
        ) : undefined
      }
    >
      <Table heads={['Cluster', 'State', 'Members', 'Barriers', 'Keys', 'Since']} testid="agreeing-table">
        {all.slice(0, SHOWN).map((c) => {
          const f = fares(c);
          const [shape, word] = health(c, f);
          return (
            <tr key={c.name} data-testid="agreeing" data-cluster={c.name}>
              <td>
                <a class="wrap" title={c.name} href={address('/agreement', { cluster: c.name })} onClick={follow}>
                  <bdi>{clusterName(c.name)}</bdi>
                </a>
              </td>
              <td title={c.cause ? `${c.cause.task}: ${c.cause.message}` : undefined}>
                <Chip shape={shape} colour={`text-${shape === 'waiting' ? 'disconnected' : shape}`}>
                  {word}
                </Chip>
              </td>
              <td>{c.tasks > 0 ? `${count(f.connected)} of ${count(c.tasks)} connected` : ''}</td>
              <td>{c.barriers > 0 ? <b class="text-late">{plural(c.barriers, 'waiting barrier')}</b> : ''}</td>
              <td>
                {c.keys > 0 ? (
                  <a href={address('/agreement/keys', { cluster: c.name })} onClick={follow}>
                    {plural(c.keys, 'key')}
                  </a>
                ) : (
                  ''
                )}
              </td>
              <td>{c.started > 0 ? `run ${count(c.generation)}, ${age(viewNow() - c.started)}` : ''}</td>
            </tr>
          );
        })}
      </Table>
      {all.length > SHOWN && (
        <p class="foot">
          The first {count(SHOWN)} of {plural(all.length, 'cluster')}, with most waiting barriers first. The list of clusters in the rail contains all.
        </p>
      )}
    </Panel>
  );
}
