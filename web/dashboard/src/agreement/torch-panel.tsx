import type { TorchStore } from 'muster-rest';
import { age, bytes, count, NONE, plural } from '../shared/model/format';
import { useLooked } from '../shared/looked';
import { slow } from '../shared/page';
import { api } from '../shared/rest';
import { Panel } from '../shared/panel';
import { Table } from '../shared/table';

const path = (cluster: string) => `clusters/${encodeURIComponent(cluster)}`;

export function TorchPanel({ cluster }: { cluster: string }) {
  const of = useLooked<{ torch_store?: boolean }>(api(path(cluster)), { every: 30_000 }).value;
  return of?.torch_store ? <Shown cluster={cluster} /> : null;
}

function Shown({ cluster }: { cluster: string }) {
  slow.value;
  const s = useLooked<TorchStore>(api(`${path(cluster)}/torch`), { every: 2000 }).value;
  if (!s) return null;
  const { missing, ranks, waits } = s;
  const [now] = s.attempts;
  return (
    <Panel id="torch-store" title="PyTorch store" note={`${s.address ?? 'store of the program'}; ${plural(s.connections_total, 'connection')}`} span={12}>
      {now ? (
        <p class="foot">
          Attempt {now.number}: {plural(now.keys, 'key')}, {bytes(now.bytes)}
        </p>
      ) : (
        <p class="calm">
          No rank has connected yet. PyTorch programs find the store by <code>MASTER_ADDR</code> and <code>MASTER_PORT</code>.
        </p>
      )}
      {missing.length > 0 && (
        <p class="rank-late" data-testid="torch-missing">
          <span class="text-late">{missing.length === 1 ? `Rank ${missing[0]} is` : `Ranks ${missing.join(', ')} are`} missing: other ranks are waiting for their keys.</span>
        </p>
      )}
      {ranks.length > 0 && (
        <Table heads={['Rank', 'Where', 'Process', 'State']} testid="torch-ranks">
          {ranks.map((r) => (
            <tr key={r.rank}>
              <td data-of="rank">{r.rank}</td>
              <td data-of="at">
                <bdi>{r.peer}</bdi>
              </td>
              <td data-of="process">{r.pid ?? NONE}</td>
              <td class={r.connected ? '' : 'text-error'}>{r.connected ? 'connected' : 'gone'}</td>
            </tr>
          ))}
        </Table>
      )}
      {waits.length > 0 && (
        <Table heads={['Missing key', 'Rank that writes it', 'Since', 'Waiting clients']} testid="torch-waits">
          {waits.map((w) => (
            <tr key={w.key}>
              <td class="mono">
                <bdi>{w.key}</bdi>
              </td>
              <td data-of="of rank">{w.rank ?? NONE}</td>
              <td data-of="for">{age(w.waiting_ms)}</td>
              <td data-of="waiting clients">{count(w.count)}</td>
            </tr>
          ))}
        </Table>
      )}
      {s.more && <p class="foot">Some entries are not shown; use muster torch --limit to see more.</p>}
    </Panel>
  );
}
