import { taskName } from '../shared/model/agents';
import { age, count, plural } from '../shared/model/format';
import { lateNote, verdict, type LateHost, type LateTask, type PassedBarrier, type Stragglers } from './model/straggler-protocol';
import { useLooked } from '../shared/looked';
import { cluster, slow } from '../shared/page';
import { Bar } from '../shared/bar';
import { Grid, type Column } from '../shared/grid';
import { Elsewhere } from '../shared/elsewhere';
import { Link } from '../shared/link';
import { Problem } from '../shared/listing';
import { Panel } from '../shared/panel';
import { BarrierName } from '../shared/text';
import { Ago } from '../shared/when';
import { api } from '../shared/rest';
import { address, choose, chosen } from '../shared/route';

const Late = ({ task }: { task: string }) => (
  <Link to={address('/fleet', { q: taskName(task) })}>
    <bdi>{taskName(task)}</bdi>
  </Link>
);

function Share({ n, of }: { n: number; of: number }) {
  return (
    <span class="share-bar">
      <span>{count(n)}</span>
      <Bar parts={[{ kind: 'late', n }]} total={of} />
    </span>
  );
}

export function StragglersPage() {
  slow.value;
  const of = cluster();
  const looked = useLooked<Stragglers>(of ? api(`clusters/${encodeURIComponent(of.name)}/stragglers`) : '', { every: 2000 });
  const found = looked.value;
  const all = found?.barriers.length ?? 0;
  const said = found ? verdict(found) : '';
  const row = chosen('row').value;
  const picking = { chosen: row, choose: (name: string | null) => choose({ row: name ?? '' }, 'replace') };
  const none = (
    <>
      No barrier has passed yet. The Barriers page shows how to use one.
      <Elsewhere />
    </>
  );
  return (
    <div class="panels tall">
      {said && (
        <p class="verdict" data-testid="verdict">
          <bdi>{said}</bdi>
        </p>
      )}
      <Panel id="late-hosts" title="Hosts" note={all > 0 && `the last ${plural(all, 'barrier')}; hosts that were last most often come first`} span={4}>
        {found && <Grid id="late-hosts" columns={hostColumns(all)} rows={found.hosts} name={(h) => `host ${h.host}`} data={(h) => ({ 'data-host': h.host })} {...picking} empty={none} />}
      </Panel>
      <Panel id="late-tasks" title="Tasks" note={all > 0 && lateNote(found!)} span={8}>
        {found && <Grid id="late-tasks" columns={taskColumns(all)} rows={found.tasks} name={(t) => `task ${t.task}`} data={(t) => ({ 'data-task': taskName(t.task) })} {...picking} empty={none} />}
        <Problem text={looked.problem} />
      </Panel>
      <Panel id="late-barriers" title="Barriers" note={all > 0 && 'newest first'} span={12}>
        {found && (
          <Grid
            id="late-barriers"
            columns={barrierColumns}
            rows={found.barriers}
            name={(b) => `barrier ${b.id}#${b.counter}#${b.ended_ms}`}
            data={(b) => ({ 'data-barrier': b.id })}
            {...picking}
            empty={
              <>
                No barrier of this run has passed yet. The Barriers page shows failed barriers and missing tasks.
                <Elsewhere />
              </>
            }
          />
        )}
      </Panel>
    </div>
  );
}

function hostColumns(all: number): readonly Column<LateHost>[] {
  return [
    { title: 'Host', width: 'minmax(100px, 1.4fr)', cell: (h) => <bdi class="mono">{h.host || '–'}</bdi> },
    { title: 'Last', width: 'minmax(70px, 1fr)', cell: (h) => <Share n={h.last} of={all} /> },
    { title: 'Mean late', width: '74px', right: true, cell: (h) => age(h.late_mean_ms) },
    { title: 'Most', width: '64px', right: true, cell: (h) => age(h.late_max_ms) },
  ];
}

function taskColumns(all: number): readonly Column<LateTask>[] {
  return [
    {
      title: 'Task',
      width: 'minmax(90px, 160px)',
      cell: (t) => <Late task={t.task} />,
    },
    { title: 'Host', width: 'minmax(90px, 180px)', cell: (t) => <bdi class="soft">{t.host || '–'}</bdi> },
    { title: 'Last', width: 'minmax(90px, 180px)', cell: (t) => <Share n={t.last} of={all} /> },
    { title: 'Took part', width: '80px', right: true, narrow: 'hide', cell: (t) => count(t.barriers) },
    { title: 'Mean late', width: '84px', right: true, cell: (t) => <span title="mean">{age(t.late_mean_ms)}</span> },
    { title: 'Most late', width: '84px', right: true, cell: (t) => age(t.late_max_ms) },
  ];
}

const barrierColumns: readonly Column<PassedBarrier>[] = [
  {
    title: 'Barrier',
    width: 'minmax(160px, 360px)',
    cell: (b) => <BarrierName {...b} />,
  },
  {
    title: 'Last task',
    width: 'minmax(90px, 160px)',
    cell: (b) => <Late task={b.last} />,
  },
  { title: 'Host', width: 'minmax(90px, 180px)', cell: (b) => <bdi class="soft">{b.host || '–'}</bdi> },
  { title: 'Late by', width: '84px', right: true, cell: (b) => age(b.late_ms) },
  { title: 'First to last', width: '92px', right: true, narrow: 'hide', cell: (b) => age(b.spread_ms) },
  { title: 'Tasks', width: '64px', right: true, narrow: 'hide', cell: (b) => count(b.participants) },
  { title: 'Passed', width: '90px', right: true, cell: (b) => <Ago ms={b.ended_ms} /> },
];
