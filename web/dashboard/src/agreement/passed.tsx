// Barriers that passed or failed, with the member that arrived last.

import type { PassedBarrier, Stragglers } from './model/straggler-protocol';
import { taskName } from '../shared/model/agents';
import { age, count, plural } from '../shared/model/format';
import { Grid, type Column } from '../shared/grid';
import { slow, store } from '../shared/page';
import { Elsewhere } from '../shared/elsewhere';
import { useLooked } from '../shared/looked';
import { Panel } from '../shared/panel';
import type { BarrierRow } from '../shared/model/protocol';
import { Chip } from '../shared/shape';
import { BarrierName, Clipped } from '../shared/text';
import { Ago } from '../shared/when';
import { api, get, Gone } from '../shared/rest';
import { address, choose, chosen, follow, workerAddress } from '../shared/route';

const CLUSTERS = 5; // maximum number of clusters whose stragglers are read

const keyOf = (cluster: string, b: { id: string; counter: number }): string => `${cluster}/${b.id}#${b.counter}`;

function useLast(rows: readonly BarrierRow[]): ReadonlyMap<string, PassedBarrier> {
  const clusters = [...new Set(rows.filter((b) => b.state === 'PASSED').map((b) => b.cluster))].slice(0, CLUSTERS);
  const looked = useLooked<ReadonlyMap<string, PassedBarrier>>(clusters.map(encodeURIComponent).join('/'), {
    every: 2000,
    keep: true,
    read: async () => {
      const found = new Map<string, PassedBarrier>();
      for (const name of clusters)
        try {
          const { barriers } = await get<Stragglers>(api(`clusters/${encodeURIComponent(name)}/stragglers`));
          for (const b of barriers) found.set(keyOf(name, b), b);
        } catch (error) {
          if (!(error instanceof Gone)) throw error;
        }
      return found;
    },
  });
  return looked.value ?? new Map<string, PassedBarrier>();
}

function columnsOf(last: ReadonlyMap<string, PassedBarrier>, several: boolean): readonly Column<BarrierRow>[] {
  const lastOf = (b: BarrierRow) => (b.state === 'PASSED' ? last.get(keyOf(b.cluster, b)) : undefined);
  return [
    { title: 'Result', width: '92px', cell: (b) => (b.state === 'PASSED' ? <Chip shape="connected">Passed</Chip> : <Chip shape="error">Failed</Chip>) },
    { title: 'Barrier', width: 'minmax(120px, 320px)', cell: (b) => <BarrierName {...b} /> },
    { title: 'Cluster', width: 'minmax(80px, 180px)', narrow: 'hide', says: (b) => (several ? b.cluster : ''), cell: (b) => <bdi class="soft">{b.cluster}</bdi> },
    { title: 'Ended', width: '86px', right: true, cell: (b) => <Ago ms={b.ended} /> },
    { title: 'Took', width: '70px', right: true, narrow: 'hide', cell: (b) => age(b.ended - b.started) },
    {
      title: 'Arrived',
      width: '84px',
      right: true,
      cell: (b) => (
        <>
          {count(b.arrived)} <span class="soft">of {count(b.of)}</span>
        </>
      ),
    },
    {
      title: 'Last to arrive',
      width: '240px',
      narrow: 'long',
      cell: (b) => {
        const it = lastOf(b);
        return it ? (
          <span data-testid="last-to-arrive">
            <a href={workerAddress(taskName(it.last), b.cluster)} onClick={follow} tabIndex={-1}>
              <bdi>{taskName(it.last)}</bdi>
            </a>{' '}
            <span class="soft">{age(it.spread_ms)} after the first</span>
          </span>
        ) : (
          <span class="soft">–</span>
        );
      },
    },
    { title: 'Reason', width: 'minmax(120px, 3fr)', narrow: 'long', says: (b) => b.error, cell: (b) => <Clipped text={b.error} kind="soft" /> },
  ];
}

export function Passed({ rows, several }: { rows: BarrierRow[]; several: boolean }) {
  slow.value;
  const last = useLast(rows);
  const name = (b: BarrierRow): string => `${b.id}#${b.counter}`;
  const picked = chosen('barrier').value || null;
  const row = rows.find((b) => name(b) === picked);
  return (
    <Panel
      id="ended"
      title="Passed and failed"
      note={rows.length > 0 && 'newest first'}
      span={12}
      aside={
        <a href={address('/agreement/stragglers')} onClick={follow} data-testid="to-stragglers">
          Who arrives last, and how often
        </a>
      }
    >
      <Grid
        id="ended"
        columns={columnsOf(last, several)}
        rows={rows}
        name={name}
        kind={(b) => (b.state === 'FAILED' ? 'row-error' : '')}
        data={(b) => ({ 'data-barrier': b.id, 'data-state': b.state })}
        chosen={picked}
        choose={(choice) => choose({ barrier: choice ?? '' }, 'replace')}
        empty={
          <>
            No barrier has ended yet. A barrier ends when all its tasks have arrived, or when it times out.
            <Elsewhere />
          </>
        }
      />
      {row?.error ? (
        <div class="detail">
          <b class="mono">
            <bdi>{row.id}</bdi>
          </b>
          <span class="reason text-error">
            <bdi>{row.error}</bdi>
          </span>
        </div>
      ) : (
        rows.some((b) => b.error) && <p class="foot">{plural(rows.length, 'barrier')}. Choose a failed barrier to read the complete reason.</p>
      )}
      {store.barriers.more > 0 && <p class="foot">Only the newest barriers are shown.</p>}
    </Panel>
  );
}
