// One running barrier: its name, a dot for each member, and a sentence that names the missing members.

import { useSignal } from '@preact/signals';
import { awaitedSince, foldByHost, memberLine, members, standingLine, type BarrierView, type Member } from './model/barrier-view';
import { agentName, hostOf, taskName } from '../shared/model/agents';
import { Bar } from '../shared/bar';
import { age, clock, count, moment, plural } from '../shared/model/format';
import { Action } from '../shared/action';
import { store, viewNow } from '../shared/page';
import type { BarrierRow } from '../shared/model/protocol';
import { More } from '../shared/text';
import { api, send } from '../shared/rest';
import { chosen, follow, workerAddress } from '../shared/route';

const NAMES_SHOWN = 24;
const DOTS = 64; // maximum number of members with a dot each; larger barriers are grouped by host
const HOSTS = 48;

interface Props {
  barrier: BarrierRow;
  known: BarrierView | undefined;
  several: boolean; // whether the page shows barriers of several clusters
  open: boolean; // whether the names of the members are shown from the start
}

export function Waiting({ barrier: b, known, several, open }: Props) {
  const now = viewNow();
  const all = known?.arrivals ? members(known) : [];
  const since = awaitedSince(all);
  const left = b.deadline > 0 ? b.deadline - now : Infinity;
  const hurried = left < 0.25 * (b.deadline - b.started);
  return (
    <div class={`barrier-row${chosen('id').value === b.id ? ' is-chosen' : ''}`} data-testid="barrier" data-barrier={b.id}>
      <b class="mono wrap barrier-name">
        <bdi>{b.id}</bdi>
        {b.counter > 0 && <span class="soft"> #{b.counter}</span>}
        {several && (
          <span class="soft">
            {' '}
            in <bdi>{b.cluster}</bdi>
          </span>
        )}
      </b>
      {all.length === 0 ? <Bar parts={[{ kind: 'late', n: b.arrived }]} total={b.of} /> : all.length <= DOTS ? <Dots all={all} since={since} of={b} /> : <Hosts all={all} since={since} of={b} />}
      <span class={since > 0 ? 'text-error' : 'text-late'} data-testid="barrier-standing">
        <bdi>{standingLine(b, since, now)}</bdi>
      </span>
      <span class={`soft barrier-time${hurried ? ' text-error' : ''}`}>
        since <time title={moment(b.started)}>{clock(b.started)}</time>
        {b.deadline > 0 && `, ${left > 0 ? `${age(left)} left of ${age(b.deadline - b.started)}` : 'timed out'}`}
      </span>
      <Cancel barrier={b} />
      <details open={open} class="barrier-names">
        <summary>Members</summary>
        <Missing of={b} now={now} />
        {all.length > 0 && <Arrived all={all} of={b} />}
      </details>
    </div>
  );
}

const looksOf = (m: Member, since: number): string => (m.came > 0 ? 'is-there' : since > 0 ? 'is-awaited' : '');

function Dots({ all, since, of }: { all: readonly Member[]; since: number; of: BarrierRow }) {
  const now = viewNow();
  const first = all[0]?.came ?? 0;
  return (
    <ul class="members" data-testid="members" data-arrived={of.arrived} aria-label={`Members of barrier ${of.id}`}>
      {all.map((m) => {
        const text = memberLine(m, first, since, now);
        return (
          <li key={m.task}>
            <a class={`member ${looksOf(m, since)}`} href={workerAddress(m.task, of.cluster)} onClick={follow} data-testid="dot" data-task={m.task}>
              <bdi>{text}</bdi>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function Hosts({ all, since, of }: { all: readonly Member[]; since: number; of: BarrierRow }) {
  const hosts = new Map<string, string>(of.missing.map((m) => [taskName(m.task), hostOf(m.address)]));
  for (const a of store.agents.all()) if (a.cluster === of.cluster && a.address) hosts.set(agentName(a), hostOf(a.address));
  const folds = foldByHost(all, (task) => hosts.get(task) ?? '');
  return (
    <ul class="host-dots" data-testid="members" data-arrived={of.arrived} aria-label={`Members of barrier ${of.id} by host`}>
      {folds.slice(0, HOSTS).map((f) => (
        <li key={f.host} data-testid="host-dot" data-host={f.host} title={f.missing.length > 0 ? `missing: ${f.missing.slice(0, NAMES_SHOWN).join(', ')}` : 'all members have arrived'}>
          <i class={`member ${f.missing.length === 0 ? 'is-there' : since > 0 ? 'is-awaited' : ''}`} /> <bdi>{f.host || 'host unknown'}</bdi>{' '}
          <span class="soft">
            {count(f.arrived)} of {count(f.of)}
          </span>
        </li>
      ))}
      {folds.length > HOSTS && <li class="soft">and {plural(folds.length - HOSTS, 'more host')}</li>}
    </ul>
  );
}

const Name = ({ task, of }: { task: string; of: BarrierRow }) => (
  <a href={workerAddress(task, of.cluster)} onClick={follow}>
    <code>
      <bdi>{task}</bdi>
    </code>
  </a>
);

function Missing({ of: b, now }: { of: BarrierRow; now: number }) {
  const all = useSignal(false);
  const missing = b.of - b.arrived;
  const shown = all.value ? b.missing : b.missing.slice(0, NAMES_SHOWN);
  return (
    <>
      <h3 class="names-head">Missing</h3>
      <ul class="names" aria-label="Missing">
        {shown.map((m) => (
          <li key={m.task} data-testid="missing" title={m.address ? `${m.task} at ${m.address}` : m.task}>
            <Name task={taskName(m.task)} of={b} /> <span class="soft">{m.seen > 0 ? `last heartbeat ${age(now - m.seen)} ago${m.address ? ` · ${hostOf(m.address)}` : ''}` : 'never connected'}</span>
          </li>
        ))}
        {b.missing.length > shown.length ? (
          <More n={missing - shown.length} show={() => (all.value = true)} />
        ) : (
          missing > shown.length && <li class="rest soft">and {count(missing - shown.length)} more: muster barriers show</li>
        )}
      </ul>
    </>
  );
}

function Arrived({ all, of }: { all: readonly Member[]; of: BarrierRow }) {
  const more = useSignal(false);
  const arrived = all.filter((m) => m.came > 0);
  const first = arrived[0]?.came ?? 0;
  const after = (m: Member) => (m === arrived[0] ? clock(m.came) : `+${age(m.came - first)}`);
  const shown = more.value ? arrived : arrived.slice(0, NAMES_SHOWN);
  return (
    <>
      <h3 class="names-head">Waiting</h3>
      <ul class="names" aria-label="Waiting">
        {shown.map((m) => (
          <li key={m.task} data-testid="arrived" data-came={m.came} title={moment(m.came)}>
            <Name task={m.task} of={of} /> <span class="soft">{after(m)}</span>
          </li>
        ))}
        <More n={arrived.length - shown.length} show={() => (more.value = true)} />
      </ul>
    </>
  );
}

function Cancel({ barrier: b }: { barrier: BarrierRow }) {
  return (
    <span class="barrier-cancel">
      <Action
        label="Cancel barrier"
        title={`Cancel barrier ${b.id}?`}
        yes="Cancel the barrier"
        danger
        testid="barrier-cancel"
        done={`Barrier ${b.id} was cancelled.`}
        run={() => send('POST', api(`clusters/${encodeURIComponent(b.cluster)}/barriers/${encodeURIComponent(b.id)}/cancel`))}
      >
        <p>
          The {plural(b.arrived, 'task')} that {b.arrived === 1 ? 'is' : 'are'} waiting there in cluster <bdi>{b.cluster}</bdi> will immediately get an error, and so will tasks that arrive later. Most
          programs exit on this error.
        </p>
      </Action>
    </span>
  );
}
