// Lists the agents that failed first separately from the agents that failed because of them.

import { useMemo } from 'preact/hooks';
import { agentName, countPlights, hostOf, listAgents, plight, PLIGHT_SHAPES, PLIGHT_WORDS, PLIGHTS, remark, troubled, type Plight } from '../shared/model/agents';
import { age, clock, count, moment } from '../shared/model/format';
import { Grid, type Column } from '../shared/grid';
import { cluster, clusterName, query, slow, store, viewNow } from '../shared/page';
import { Ago } from '../shared/when';
import { hasAgents } from '../shared/model/map-groups';
import { address, choose, chosen } from '../shared/route';
import { Panel } from '../shared/panel';
import type { AgentRow, ClusterRow } from '../shared/model/protocol';
import { Link } from '../shared/link';
import { Segments, type Option } from '../shared/segments';
import { Chip, Mark } from '../shared/shape';
import { Clipped } from '../shared/text';

const shortened = (incarnation: string): string => (incarnation.length > 9 ? `${incarnation.slice(0, 8)}…` : incarnation);

const columns: readonly Column<AgentRow>[] = [
  {
    title: 'State',
    width: '106px',
    cell: (a) => <Chip shape={PLIGHT_SHAPES[plight(a)]}>{PLIGHT_WORDS[plight(a)]}</Chip>,
  },
  { title: 'Task', width: 'minmax(92px, 150px)', cell: (a) => <bdi class="mono">{agentName(a)}</bdi> },
  {
    title: 'Host',
    width: 'minmax(100px, 180px)',
    cell: (a) => <Clipped text={hostOf(a.address) || '–'} kind="soft" title={a.address} />,
  },
  {
    title: 'Incarnation',
    width: '92px',
    narrow: 'hide',
    cell: (a) =>
      a.incarnation === '0' ? (
        <span class="soft">–</span>
      ) : (
        <code class="soft" title={a.incarnation}>
          {shortened(a.incarnation)}
        </code>
      ),
  },
  {
    title: 'Heartbeat',
    width: '70px',
    right: true,
    cell: (a) => <span title={a.seen ? moment(a.seen) : a.unheard ? 'no heartbeat since the server restarted' : ''}>{a.seen ? age(viewNow() - a.seen) : a.unheard ? 'unknown' : 'never'}</span>,
  },
  { title: 'Devices', width: '56px', right: true, narrow: 'hide', cell: (a) => (a.devices > 0 ? <span title={a.device_names?.join('\n')}>{count(a.devices)}</span> : <span class="soft">–</span>) },
  {
    title: 'Waiting for / reason',
    width: 'minmax(180px, 3fr)',
    narrow: 'long',
    says: remark,
    cell: (a) => <Clipped text={remark(a)} kind={plight(a) === 'victim' ? 'text-error' : 'soft'} />,
  },
];

const PROBLEMS_SHOWN = 100;
const clusterColumn: Column<AgentRow> = {
  title: 'Cluster',
  width: 'minmax(80px, 150px)',
  cell: (a) => (
    <Link cell to={address('/fleet', { cluster: a.cluster })} title={a.cluster}>
      <bdi>{clusterName(a.cluster)}</bdi>
    </Link>
  ),
};
const problemColumns = [...columns.slice(0, 2), clusterColumn, ...columns.slice(2).filter(({ title }) => title !== 'Incarnation' && title !== 'Devices')];

export function AgentProblems() {
  slow.value;
  const counted = new Set(
    store.clusters
      .all()
      .filter(hasAgents)
      .map((c) => c.name),
  );
  const all = listAgents(
    store.agents.all().filter((a) => counted.has(a.cluster) && troubled(a)),
    query.value,
  );
  if (all.length === 0) return null;
  const rows = all.slice(0, PROBLEMS_SHOWN);
  return (
    <Panel id="agent-problems" title="Agents with problems" note={`${count(all.length)} of ${count(store.agents.all().length)} agents`} span={12}>
      <Grid
        id="agent-problems"
        columns={problemColumns}
        rows={rows}
        name={(a) => `${a.cluster}/${agentName(a)}`}
        kind={(a) => (plight(a) === 'victim' ? 'row-error' : '')}
        data={(a) => ({ 'data-task': agentName(a), 'data-state': plight(a) })}
        href={(a) => address('/fleet', { cluster: a.cluster, agent: agentName(a) })}
        chosen={null}
        choose={() => undefined}
        least={690}
        empty=""
      />
      {all.length > rows.length && <p class="foot">and {count(all.length - rows.length)} more</p>}
    </Panel>
  );
}

export function Agents() {
  slow.value;
  const of = cluster();
  const at = chosen('agent').value || null;
  const asked = chosen('state').value as Plight;
  const { counts, only, rows } = useMemo(() => {
    const all = store.agents.all().filter((a) => a.cluster === of?.name);
    const counts = countPlights(all);
    const only = PLIGHTS.includes(asked) && counts[asked] > 0 ? asked : '';
    return { counts, only, rows: listAgents(all, query.value, only || null) } as const;
  }, [of?.name, store.agents.version, asked, query.value]);
  if (!of || of.tasks === 0) return null;
  const row = rows.find((a) => agentName(a) === at);
  return (
    <Panel id="agents" title="Agents" note={<Whence of={of} />} span={12} aside={<Filter counts={counts} only={only} />}>
      <Cause of={of} />
      <Grid
        id="agents"
        columns={columns}
        rows={rows}
        name={agentName}
        kind={(a) => (plight(a) === 'victim' ? 'row-error' : '')}
        data={(a) => ({ 'data-task': agentName(a), 'data-state': plight(a) })}
        chosen={at}
        choose={(name) => choose({ agent: name ?? '' }, 'replace')}
        least={760}
        empty={query.value ? `No agent has a name, address or incarnation that contains “${query.value}”.` : 'Loading…'}
      />
      {row && <Detail agent={row} />}
      {store.agents.more > 0 && <p class="foot">Only the first {count(store.agents.all().length)} agents of all clusters are shown; to list all, run muster tasks.</p>}
    </Panel>
  );
}

function Whence({ of }: { of: ClusterRow }) {
  return (
    <>
      run {of.generation}, {of.state.toLowerCase()}
      {of.started > 0 && (
        <>
          {' '}
          · began <Ago ms={of.started} />
        </>
      )}
      {of.address && (
        <>
          {' '}
          · connect to <code>{of.address}</code>
        </>
      )}
    </>
  );
}

function Filter({ counts, only }: { counts: Record<Plight, number>; only: Plight | '' }) {
  const options = PLIGHTS.filter((p) => counts[p] > 0).map(
    (p): Option<Plight> => [
      p,
      <>
        <Mark shape={PLIGHT_SHAPES[p]} /> {count(counts[p])} {p === 'casualty' && counts[p] > 1 ? 'casualties' : PLIGHT_WORDS[p].toLowerCase()}
      </>,
    ],
  );
  return <Segments<Plight | ''> wide label="State" options={[['', 'all'], ...options]} now={only} testid="only" choose={(p) => choose({ state: p === only ? '' : p })} />;
}

// The agent whose failure caused the other failures.
function Cause({ of }: { of: ClusterRow }) {
  if (!of.cause) return null;
  return (
    <div class="banner banner-error" data-testid="cause">
      <p>
        <b>
          First failure{of.cause.task ? ': ' : ''}
          <bdi class="mono">{of.cause.task}</bdi> <Ago ms={of.cause.at} />.
        </b>{' '}
        <bdi>{of.cause.message}</bdi>
      </p>
    </div>
  );
}

function Detail({ agent }: { agent: AgentRow }) {
  return (
    <div class="detail" data-testid="agent-detail">
      <b class="mono">
        <bdi>{agentName(agent)}</bdi>
      </b>
      <span>
        incarnation <code>{agent.incarnation}</code>
      </span>
      <span>
        address <bdi>{agent.address || 'never registered'}</bdi>
      </span>
      {agent.seen > 0 && <span data-testid="agent-seen">last heartbeat {clock(agent.seen)}</span>}
      {agent.unheard && <span>no heartbeat since the server restarted</span>}
      {agent.late_for && agent.late_since && <span>other tasks waiting since {clock(agent.late_since)}</span>}
      {agent.error && (
        <span class={`reason ${agent.casualty ? '' : 'text-error'}`}>
          {agent.casualty && 'Failed because of another task: '}
          {agent.code} <bdi>{agent.error}</bdi>
        </span>
      )}
      {agent.waits.length > 0 && (
        <span class="reason">
          waiting for <bdi class="mono">{agent.waits.join(', ')}</bdi>
        </span>
      )}
    </div>
  );
}
