import { mayOnlyLook } from '../shared/session';
import { count, plural, span } from '../shared/model/format';
import { mayBeProgram, type WatchedProgram } from './model/program-protocol';
import { nothing } from '../shared/model/look';
import { programCommands } from '../shared/model/commands';
import { hostsOf, over, verdict, type Cause, type ProgramView, type RankView } from '../shared/model/programs';
import { Action } from '../shared/action';
import { Ansi } from '../shared/ansi';
import { Commands } from '../shared/copy';
import { Fact, TextFact, TimeFact } from '../shared/fact';
import { Gone } from '../shared/gone';
import { Panel } from '../shared/panel';
import { ProgramChip } from '../shared/program-state';
import { lookedAt } from './range';
import { RunTimelinePanel } from './run-timeline';
import { useMachines } from './seen';
import { Span } from '../shared/when';
import { useHeading } from '../shell/heading';
import { LineAsked } from '../explore/rank-log-at';
import { slow, store } from '../shared/page';
import { api, send } from '../shared/rest';
import { address, choose, follow, go, subject } from '../shared/route';
import { Attempts, Spec } from './program-past';
import { MachinesTable } from './machines-panel';
import { Ranks } from './program-ranks';
import { RankStacksPanel } from './stacks-panel';
import { TorchPanel } from '../agreement/torch-panel';

// All data comes from the WebSocket, except the log of the visible rank.
export function ProgramPage() {
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
  return (
    <div class="panels">
      <Summary p={p} ranks={ranks} />
      <LineAsked program={p.id} attempt={p.attempt} />
      <RunTimelinePanel p={p} attempts={seen.attempts} ranks={ranks} machines={machines.machines} />
      <Ranks p={p} ranks={ranks} barriers={seen.barriers} />
      {!over(p) && p.store === 'server' && p.coordination_cluster && <TorchPanel cluster={p.coordination_cluster} />}
      {!over(p) && <RankStacksPanel path={`programs/${encodeURIComponent(p.id)}`} />}
      <MachinesTable of={machines} range={range ?? (over(p) ? { from: p.created_ms, to: p.finished_ms ?? 0 } : null)} zoomed={range} title="Machines of the ranks" named />
      <Attempts program={p.id} all={seen.attempts} />
      <Spec p={p} />
    </div>
  );
}

function Summary({ p, ranks }: { p: ProgramView; ranks: readonly RankView[] }) {
  return (
    <Panel id="program" title={p.name} note={<ProgramChip state={p.state} />} span={12} aside={<Deeds p={p} />}>
      <div data-testid="program" data-program={p.id} data-state={p.state}>
        <p class="why wrap" data-testid="program-verdict">
          <bdi>{verdict(p)}</bdi>
        </p>
        {p.cause && <Why cause={p.cause} />}
        <dl class="facts-line">
          <Fact name="id">
            <code>{p.id}</code>
          </Fact>
          <Fact name="attempt">{p.attempt || 'none yet'}</Fact>
          <Fact name="restarts">
            {count(p.restarts)} of {count(p.max_restarts)}
          </Fact>
          {ranks.length > 0 && <Fact name="hosts">{count(hostsOf(ranks))}</Fact>}
          <TimeFact name="began" ms={p.created_ms} />
          <Fact name={p.finished_ms ? 'took' : 'age'}>
            <Span from={p.created_ms} to={p.finished_ms ?? 0} />
          </Fact>
          <TimeFact name="deadline" ms={p.deadline_ms && p.created_ms + p.deadline_ms} />
          <TextFact name="cluster" text={p.cluster} />
          {p.coordination_cluster && (
            <Fact name="late ranks">
              <a href={address('/agreement', { cluster: p.coordination_cluster })} onClick={follow}>
                barriers of <bdi>{p.coordination_cluster}</bdi>
              </a>
            </Fact>
          )}
        </dl>
      </div>
    </Panel>
  );
}

function Why({ cause }: { cause: Cause }) {
  return (
    <div data-testid="program-cause" data-kind={cause.kind}>
      <p class="wrap text-error">
        <bdi>{cause.text}</bdi>{' '}
        {cause.rank !== undefined && (
          <button type="button" class="plain" data-testid="cause-rank" onClick={() => choose({ rank: String(cause.rank) })}>
            Show rank {cause.rank}
          </button>
        )}
      </p>
      {cause.coordination && (
        <p class="wrap" data-testid="cause-coordination">
          Its coordination service had reported {cause.coordination.code}: <bdi>{cause.coordination.message}</bdi>
        </p>
      )}
      {cause.stderr && cause.stderr.length > 0 && (
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
    <div class="actions">
      {!over(p) && p.state !== 'STOPPING' && (
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
      {!over(p) && (
        <Action {...right} testid="cancel-program" label="Cancel" title={`Cancel ${p.name}?`} yes="Cancel the program" danger run={order('cancel')} done={`${p.name} was cancelled.`}>
          <p>Its {ranks} will be stopped, and the program will end as cancelled.</p>
        </Action>
      )}
      {over(p) && (
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
      <Commands lines={programCommands(p, location.origin)} />
    </div>
  );
}
