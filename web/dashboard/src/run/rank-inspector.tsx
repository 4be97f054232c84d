import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { commandLine } from '../shared/model/commands';
import { endOf, lateFor, rankLabel, resourcesOf, stepOf, type ProgramView, type RankView } from '../shared/model/programs';
import { Fact, TextFact } from '../shared/fact';
import { WorkerLink } from '../shared/link';
import { Panel } from '../shared/panel';
import { RankChip } from '../shared/program-state';
import { Table } from '../shared/table';
import { Ago, Span } from '../shared/when';
import { api, get } from '../shared/rest';
import { neighbour, selectRank } from './inspect';
import { MachineNow } from './machine-now';
import { rankAttempts } from './model/rank-attempts';
import type { ProgramStacks } from './model/stacks';
import { RankLog } from './rank-log';
import { Inspector } from './run-frame';
import type { Details } from './seen';
import { Stack } from './stacks-panel';

interface Props {
  p: ProgramView;
  r: RankView;
  ranks: readonly RankView[];
  details: Details;
}

export function RankInspector({ p, r, ranks, details }: Props) {
  const move = (by: number) => {
    const to = neighbour(ranks, ({ rank }) => rank === r.rank, by);
    if (to) selectRank(to.rank);
  };
  const title = rankLabel(r).replace('rank', 'Rank');
  return (
    <Inspector of={String(r.rank)} title={title} chip={<RankChip state={r.state} />} close={() => selectRank(-1)} move={move}>
      <section class="panel" data-testid="rank-detail" data-rank={r.rank}>
        <RankFacts r={r} />
      </section>
      {!!r.started_ms && <RankStack key={`${p.id} ${p.attempt} ${r.rank} stack`} p={p} r={r} details={details} />}
      <section class="panel">
        <RankLog key={`${p.id} ${p.attempt} ${r.rank}`} program={p.id} rank={r.rank} attempt={p.attempt} />
      </section>
      <RankAttempts r={r} details={details} />
      <Command p={p} r={r} />
      {r.worker && <MachineNow key={`${r.rank} machine`} task={r.worker} at={r.ended_ms ?? 0} />}
    </Inspector>
  );
}

function RankFacts({ r }: { r: RankView }) {
  const late = lateFor(r);
  return (
    <dl class="facts-line">
      <TextFact name="host" text={r.host || '–'} />
      {r.worker && (
        <Fact name="worker">
          <WorkerLink task={r.worker} />
        </Fact>
      )}
      <TextFact name="address" text={r.address || '–'} kind="mono" />
      {!!r.pid && <Fact name="process">{r.pid}</Fact>}
      {r.resources && <Fact name="resources">{resourcesOf(r.resources)}</Fact>}
      {!!r.started_ms && (
        <Fact name={r.ended_ms ? 'ran for' : 'runs for'}>
          <Span from={r.started_ms} to={r.ended_ms ?? 0} />
        </Fact>
      )}
      {stepOf(r) && <Fact name="at">{stepOf(r)}</Fact>}
      {late && (
        <Fact name="late for">
          <bdi class="text-late">{late}</bdi>
          {!!r.agent?.late_since && (
            <>
              , <Span from={r.agent.late_since} to={0} />
            </>
          )}
        </Fact>
      )}
      <TextFact name="coordination error" text={r.agent?.error} kind="text-error wrap" />
      <TextFact name="ended" text={endOf(r)} kind={r.state === 'FAILED' ? 'text-error' : ''} />
    </dl>
  );
}

// The stack of a running rank is taken on request, or at once if the program hangs. For a rank that was killed, the record of the
// attempt contains the stack.
function RankStack({ p, r, details }: { p: ProgramView; r: RankView; details: Details }) {
  const taken = useSignal<ProgramStacks | null>(null);
  const problem = useSignal('');
  const asks = useSignal(false);
  const alive = !r.ended_ms;
  const take = async () => {
    asks.value = true;
    try {
      taken.value = await get<ProgramStacks>(api(`programs/${encodeURIComponent(p.id)}/stacks`));
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    asks.value = false;
  };
  const hangs = alive && !!p.hang;
  useEffect(() => {
    if (hangs) void take();
  }, [hangs]);
  const kept = details.get(p.attempt)?.stacks ?? [];
  const group = (taken.value?.groups ?? kept).find((g) => g.ranks.some(({ rank }) => rank === r.rank));
  const stands = p.hang?.rank === r.rank && alive ? p.hang.line : undefined;
  if (!alive && !group) return null;
  const button = alive && (
    <button type="button" disabled={asks.value} data-testid="rank-stack-take" onClick={take}>
      {taken.value ? 'Take again' : 'Take stack'}
    </button>
  );
  return (
    <Panel id="rank-stack" title="Stack" span={12} aside={button}>
      <div data-testid="rank-stack">
        {stands && (
          <p class="mono wrap text-error" data-testid="rank-line-at">
            <bdi>{stands}</bdi>
          </p>
        )}
        {problem.value && <p class="wrap text-error">{problem.value}</p>}
        {group ? <Stack state={group.state} text={group.stack} /> : !problem.value && <p class="calm">{asks.value ? 'Asking its worker…' : 'Taking the stack does not stop the process.'}</p>}
      </div>
    </Panel>
  );
}

function RankAttempts({ r, details }: { r: RankView; details: Details }) {
  const rows = rankAttempts(details, r);
  if (rows.length < 2) return null;
  return (
    <Panel id="rank-attempts" title="Attempts of the rank" note="newest first" span={12}>
      <Table heads={['#', 'Host', 'Started', 'Ran', 'Outcome']} testid="rank-attempts">
        {rows.map((a) => (
          <tr key={a.attempt}>
            <td>{a.attempt}</td>
            <td class="wrap">
              <bdi>{a.host}</bdi>
            </td>
            <td>
              <Ago ms={a.from} />
            </td>
            <td>
              <Span from={a.from} to={a.to} />
            </td>
            <td class={a.failed ? 'wrap text-error' : 'wrap'}>
              <bdi>{a.outcome}</bdi>
            </td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function Command({ p, r }: { p: ProgramView; r: RankView }) {
  const type = r.task.slice(0, r.task.lastIndexOf(':'));
  const words = p.tasks[type]?.command ?? p.command;
  return (
    <Panel id="rank-command" title="Arguments" span={12}>
      <pre class="log mono stderr" tabIndex={0} role="region" aria-label="Command of the rank" data-testid="rank-command">
        <bdi>{commandLine(words)}</bdi>
      </pre>
    </Panel>
  );
}
