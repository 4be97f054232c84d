// A program: its verdict, its ranks, one of them with its log, its attempts, and what can be done with it.

import { session } from '../access/session';
import { count, plural, span } from '../model/format';
import { byState, endOf, hostsOf, lookOf, over, programCommands, RANK_LOOKS, resourcesOf, verdict, wanted, type AttemptView, type Cause, type ProgramView, type RankView } from '../model/rest/programs';
import { Action } from '../parts/action';
import { Ansi } from '../parts/ansi';
import { Commands } from '../parts/copy';
import { Fact } from '../parts/fact';
import { Gone } from '../parts/gone';
import { Panel } from '../parts/panel';
import { ProgramChip, RankChip } from '../parts/program-state';
import { RankGrid } from '../parts/rank-grid';
import { RankLog } from '../parts/rank-log';
import { Ago, Span } from '../parts/when';
import { useHeading } from '../heading';
import { useLooked } from '../looked';
import { slow } from '../page';
import { api, send } from '../rest';
import { address, choose, chosen, follow, go, subject, workerAddress } from '../route';
import { Attempts, Spec } from './program-past';

export function ProgramPage() {
  slow.value;
  const id = subject.value;
  const path = `programs/${encodeURIComponent(id)}`;
  const looked = useLooked<ProgramView>(api(path), { every: 1000, over });
  const p = looked.value;
  // Asked once more when the attempt or the state is another: what has ended is not asked for again.
  const ranks = useLooked<{ ranks: RankView[] }>(p ? `${api(`${path}/ranks`)}#${p.attempt} ${over(p)}` : '', { every: 1500, over: () => !p || over(p), keep: true });
  const attempts = useLooked<{ attempts: AttemptView[] }>(p ? `${api(`${path}/attempts`)}#${p.attempt} ${over(p)}` : '', { every: 3000, over: () => !p || over(p), keep: true });
  useHeading(p ? p.name : id);
  if (!p) return <div class="panels">{looked.problem ? <Gone id="no-program" what="program" looked={looked} to="/programs" others="All programs" /> : <p class="calm">Loading…</p>}</div>;
  const all = ranks.value?.ranks ?? [];
  return (
    <div class="panels">
      {looked.problem && <Gone id="no-program" what="program" looked={looked} to="/programs" others="All programs" />}
      <Summary p={p} path={path} ranks={all} again={looked.again} />
      <Ranks p={p} ranks={all} />
      <Attempts all={attempts.value?.attempts ?? []} />
      <Spec p={p} />
    </div>
  );
}

function Summary({ p, path, ranks, again }: { p: ProgramView; path: string; ranks: readonly RankView[]; again(): void }) {
  return (
    <Panel id="program" title={p.name} note={<ProgramChip state={p.state} />} span={12} aside={<Deeds p={p} path={path} again={again} />}>
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
          <Fact name="began">
            <Ago ms={p.created_ms} />
          </Fact>
          <Fact name={p.finished_ms ? 'took' : 'age'}>
            <Span from={p.created_ms} to={p.finished_ms ?? 0} />
          </Fact>
          {!!p.deadline_ms && (
            <Fact name="deadline">
              <Ago ms={p.created_ms + p.deadline_ms} />
            </Fact>
          )}
          {p.cluster && (
            <Fact name="cluster">
              <bdi>{p.cluster}</bdi>
            </Fact>
          )}
          {p.coordination_cluster && (
            <Fact name="who is late">
              <a href={address('/barriers', { cluster: p.coordination_cluster })} onClick={follow}>
                barriers of <bdi>{p.coordination_cluster}</bdi>
              </a>
            </Fact>
          )}
        </dl>
      </div>
    </Panel>
  );
}

// What went wrong first, and the last that it said.
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
      {cause.stderr && cause.stderr.length > 0 && (
        <pre class="log mono stderr" tabIndex={0} aria-label="The last lines on stderr" data-testid="cause-stderr">
          <Ansi text={cause.stderr.join('\n')} />
        </pre>
      )}
    </div>
  );
}

function Deeds({ p, path, again }: { p: ProgramView; path: string; again(): void }) {
  const looksOnly = session.value?.required === true && session.value.role === 'viewer';
  const right = looksOnly ? { disabled: true, why: 'Your token may look, and change nothing.' } : {};
  const order = (what: string) => async () => {
    await send('POST', api(`${path}/${what}`));
    again();
  };
  const ranks = plural(p.alive, 'rank');
  return (
    <div class="actions">
      {!over(p) && p.state !== 'STOPPING' && (
        <>
          {p.attempt > 0 && (
            <Action {...right} testid="restart-program" label="Restart" title={`Start ${p.name} again?`} yes="Restart" run={order('restart')} done={`${p.name} is restarted.`}>
              <p>Its {ranks} are stopped, and all start again as another attempt. It is not counted among its restarts.</p>
            </Action>
          )}
          <Action {...right} testid="stop-program" label="Stop" title={`Ask ${p.name} to end?`} yes="Stop" run={order('stop')} done={`${p.name} is asked to end.`}>
            <p>Its {ranks} get SIGTERM, and SIGKILL after {span(p.grace_ms)}. It has succeeded where all end with status 0.</p>
          </Action>
        </>
      )}
      {!over(p) && (
        <Action {...right} testid="cancel-program" label="Cancel" title={`Cancel ${p.name}?`} yes="Cancel the program" danger run={order('cancel')} done={`${p.name} was cancelled.`}>
          <p>Its {ranks} are stopped, and it ends as cancelled.</p>
        </Action>
      )}
      {over(p) && (
        <Action
          {...right}
          testid="forget-program"
          label="Forget"
          title={`Forget ${p.name}?`}
          yes="Forget it"
          danger
          run={async () => {
            await send('DELETE', api(path));
            go(address('/programs'));
          }}
          done={`${p.name} is forgotten.`}
        >
          <p>It leaves the list, with its attempts. Its logs are lost.</p>
        </Action>
      )}
      <Commands lines={programCommands(p, location.origin)} />
    </div>
  );
}

function Ranks({ p, ranks }: { p: ProgramView; ranks: readonly RankView[] }) {
  const at = Number(chosen('rank').value || -1);
  const one = ranks.find((r) => r.rank === at);
  return (
    <Panel id="ranks" title="Ranks" note={p.attempt > 0 ? `of attempt ${p.attempt}` : `${wanted(p)} wanted`} span={12}>
      {ranks.length === 0 ? (
        <p class="calm">{p.attempt === 0 ? 'They are placed all at once, when there is room for all.' : 'None.'}</p>
      ) : (
        <>
          <p class="job-line" data-testid="rank-states">
            {byState(ranks).map(([state, n]) => (
              <span key={state}>
                {count(n)} <RankChip state={state} />
              </span>
            ))}
          </p>
          <RankGrid ranks={ranks} at={at} choose={(rank) => choose({ rank: rank === at ? '' : String(rank) })} />
          {one ? <Rank key={`${p.id} ${p.attempt} ${one.rank}`} p={p} r={one} /> : <p class="foot">Choose a rank to see its log.</p>}
        </>
      )}
    </Panel>
  );
}

function Rank({ p, r }: { p: ProgramView; r: RankView }) {
  return (
    <section class="rank-detail" aria-label={`Rank ${r.rank}`} data-testid="rank-detail" data-rank={r.rank}>
      <h3>
        Rank {r.rank}, <bdi>{r.task}</bdi>: {lookOf(RANK_LOOKS, r.state)[2].toLowerCase()}
      </h3>
      <dl class="facts-line">
        <Fact name="host">
          <bdi>{r.host || '–'}</bdi>
        </Fact>
        <Fact name="worker">
          <a href={workerAddress(r.worker)} onClick={follow}>
            <bdi>{r.worker}</bdi>
          </a>
        </Fact>
        <Fact name="address">
          <bdi class="mono">{r.address || '–'}</bdi>
        </Fact>
        {!!r.pid && <Fact name="process">{r.pid}</Fact>}
        {r.resources && <Fact name="resources">{resourcesOf(r.resources)}</Fact>}
        {!!r.started_ms && (
          <Fact name={r.ended_ms ? 'ran for' : 'runs for'}>
            <Span from={r.started_ms} to={r.ended_ms ?? 0} />
          </Fact>
        )}
        {endOf(r) && (
          <Fact name="ended">
            <bdi class={r.state === 'FAILED' ? 'text-error' : ''}>{endOf(r)}</bdi>
          </Fact>
        )}
      </dl>
      <RankLog program={p.id} rank={r.rank} attempt={p.attempt} />
    </section>
  );
}
