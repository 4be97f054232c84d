import { serverUrl } from '../shared/base';
import { mayOnlyLook } from '../shared/session';
import { count, plural, span } from '../shared/model/format';
import { mayBeProgram, type WatchedProgram } from './model/program-protocol';
import { nothing } from '../shared/model/look';
import { programCommands } from '../shared/model/commands';
import { programHeadline } from './model/headline';
import { hostsOf, isOver } from '../shared/model/counts';
import type { ProgramView, RankView } from '../shared/model/programs';
import { Action } from '../shared/action';
import { Ansi } from '../shared/ansi';
import { Commands } from '../shared/copy';
import { Fact, TextFact, TimeFact } from '../shared/fact';
import { Gone } from '../shared/gone';
import { ProgramChip } from '../shared/program-state';
import { Chip } from '../shared/shape';
import { CompareMenu, ComparePanel } from './compare-panel';
import { rankNow, selectRank } from './inspect';
import { RankInspector } from './rank-inspector';
import { lookedAt } from '../shared/range';
import { RunFrame, RunHead } from './run-frame';
import { RunTimelinePanel } from './run-timeline';
import { useDetails, useMachines } from './seen';
import { Span } from '../shared/when';
import { useHeading } from '../shell/heading';
import { LineAsked } from '../explore/rank-log-at';
import { slow, store, viewNow } from '../shared/page';
import { api, send } from '../shared/rest';
import { address, chosen, follow, go, subject } from '../shared/route';
import { Attempts, Spec } from './program-past';
import { MachinesTable } from './machines-panel';
import { Ranks } from './program-ranks';
import { RankStacksPanel } from './stacks-panel';
import { TorchPanel } from '../agreement/torch-panel';

// All data comes from the WebSocket, except the log of the visible rank.
export function ProgramRun() {
  slow.value;
  const id = subject.value;
  const seen = store.program(`program:${id}`);
  const p = seen?.program;
  useHeading(p ? p.name : id);
  if (p) return <Whole key={p.id} p={p} seen={seen} />;
  const gone = seen || !mayBeProgram(id) ? { ...nothing<ProgramView>(), gone: true, problem: `There is no program ${id}, or it was removed.` } : null;
  return <div class="panels">{gone ? <Gone id="no-program" what="program" looked={gone} to="/programs" others="All programs" /> : <p class="calm">Loading…</p>}</div>;
}

function Whole({ p, seen }: { p: ProgramView; seen: WatchedProgram }) {
  slow.value;
  const ranks = seen.ranks();
  const range = lookedAt();
  const machines = useMachines(p, ranks, range);
  const details = useDetails(p, seen.attempts);
  const other = chosen('compare').value;
  const one = ranks.find((r) => r.rank === rankNow());
  return (
    <RunFrame head={<Summary p={p} ranks={ranks} />} chosen={one ? <RankInspector p={p} r={one} ranks={ranks} details={details} /> : null}>
      {other && <ComparePanel key={`${p.id} ${other}`} id={p.id} other={other} />}
      <LineAsked program={p.id} attempt={p.attempt} />
      <RunTimelinePanel p={p} attempts={seen.attempts} ranks={ranks} machines={machines.machines} details={details} />
      <Ranks p={p} ranks={ranks} barriers={seen.barriers} />
      {!isOver(p) && p.store === 'server' && p.coordination_cluster && <TorchPanel cluster={p.coordination_cluster} />}
      {!isOver(p) && <RankStacksPanel path={`programs/${encodeURIComponent(p.id)}`} />}
      <MachinesTable of={machines} range={range ?? (isOver(p) ? { from: p.created_ms, to: p.finished_ms ?? 0 } : null)} zoomed={range} title="Machines of the ranks" named />
      <Attempts program={p.id} all={seen.attempts} />
      <Spec p={p} />
    </RunFrame>
  );
}

function Summary({ p, ranks }: { p: ProgramView; ranks: readonly RankView[] }) {
  const now = viewNow();
  const headline = programHeadline(p, ranks, now);
  const hangs = headline.startsWith('Hangs');
  const facts = (
    <>
      <Fact name="id">
        <code>{p.id}</code>
      </Fact>
      <TextFact name="user" text={p.submitted_by} />
      <TimeFact name="started" ms={p.created_ms} />
      <Fact name={p.finished_ms ? 'took' : 'age'}>
        <Span from={p.created_ms} to={p.finished_ms ?? 0} />
      </Fact>
      <Fact name="attempts">
        {count(p.attempt)}
        {p.max_restarts > 0 && `, ${count(p.restarts)} of ${plural(p.max_restarts, 'restart')} used`}
      </Fact>
      {ranks.length > 0 && <Fact name="hosts">{count(hostsOf(ranks))}</Fact>}
      <TimeFact name="deadline" ms={p.deadline_ms && p.created_ms + p.deadline_ms} />
      <TextFact name="cluster" text={p.cluster} />
      {p.coordination_cluster && (
        <Fact name="late ranks">
          <a href={address('/agreement', { cluster: p.coordination_cluster })} onClick={follow}>
            Barriers of its ranks
          </a>
        </Fact>
      )}
    </>
  );
  return (
    <RunHead
      id="program"
      title={p.name}
      chip={
        hangs ? (
          <Chip shape="error" colour="text-error">
            Hangs
          </Chip>
        ) : (
          <ProgramChip state={p.state} />
        )
      }
      headline={headline}
      bad={p.state === 'FAILED' || hangs}
      cause={<Why p={p} headline={headline} />}
      actions={<Deeds p={p} />}
      facts={facts}
      data={{ 'data-testid': 'program', 'data-program': p.id, 'data-state': p.state }}
    />
  );
}

// What the headline leaves out. The text of a cause that the headline contains is not repeated.
function Why({ p, headline }: { p: ProgramView; headline: string }) {
  const { cause } = p;
  const rank = (p.state === 'RUNNING' ? p.hang?.rank : undefined) ?? cause?.rank;
  if (!cause && rank === undefined) return null;
  const told = !cause || p.state === 'FAILED' || headline.includes(cause.text);
  return (
    <div data-testid="program-cause" data-kind={cause?.kind}>
      {(!told || rank !== undefined) && (
        <p class="wrap">
          {!told && (
            <>
              The last attempt ended: <bdi>{cause.text}</bdi>.{' '}
            </>
          )}
          {rank !== undefined && (
            <button type="button" class="plain" data-testid="cause-rank" onClick={() => selectRank(rank)}>
              Show rank {rank}
            </button>
          )}
        </p>
      )}
      {cause?.coordination && (
        <p class="wrap" data-testid="cause-coordination">
          Its coordination service had reported {cause.coordination.code}: <bdi>{cause.coordination.message}</bdi>
        </p>
      )}
      {cause?.stderr && cause.stderr.length > 0 && (
        <pre class="log mono stderr" tabIndex={0} role="region" aria-label="The last lines on stderr" data-testid="cause-stderr">
          <Ansi text={cause.stderr.join('\n')} />
        </pre>
      )}
    </div>
  );
}

function Deeds({ p }: { p: ProgramView }) {
  const path = `programs/${encodeURIComponent(p.id)}`;
  const right = mayOnlyLook();
  const order = (what: string) => () => send('POST', api(`${path}/${what}`));
  const ranks = plural(p.alive, 'rank');
  return (
    <>
      {!isOver(p) && p.state !== 'STOPPING' && (
        <>
          {p.attempt > 0 && (
            <Action {...right} testid="restart-program" label="Restart" title={`Restart ${p.name}?`} yes="Restart" run={order('restart')} done={`${p.name} is restarting.`}>
              <p>Its {ranks} will be stopped and restarted as a new attempt. This does not count as a restart.</p>
            </Action>
          )}
          <Action {...right} testid="stop-program" label="Stop" title={`Ask ${p.name} to stop?`} yes="Stop" run={order('stop')} done={`${p.name} was asked to stop.`}>
            <p>
              Its {ranks} will receive SIGTERM, and SIGKILL after {span(p.grace_ms)}. The program will succeed if all ranks exit with status 0.
            </p>
          </Action>
        </>
      )}
      {!isOver(p) && (
        <Action {...right} testid="cancel-program" label="Cancel" title={`Cancel ${p.name}?`} yes="Cancel the program" danger run={order('cancel')} done={`${p.name} was cancelled.`}>
          <p>Its {ranks} will be stopped, and the program will end as cancelled.</p>
        </Action>
      )}
      <CompareMenu key={p.id} run={p} />
      <Commands lines={programCommands(p, serverUrl())} />
      {isOver(p) && (
        <Action
          {...right}
          testid="forget-program"
          label="Delete"
          title={`Delete ${p.name}?`}
          yes="Delete the program"
          danger
          run={async () => {
            await send('DELETE', api(path));
            go(address('/programs'));
          }}
          done={`${p.name} was deleted.`}
        >
          <p>The program and its attempts will be removed from the list. Its logs will be lost.</p>
        </Action>
      )}
    </>
  );
}
