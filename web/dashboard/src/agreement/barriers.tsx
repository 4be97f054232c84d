import { useSignal } from '@preact/signals';
import { useBarrierMembers } from './barrier-members';
import { hostOf, taskName } from '../shared/model/agents';
import { members, type BarrierView, type Member } from './model/barrier-view';
import { Bar } from '../shared/bar';
import { age, clock, count, moment, plural } from '../shared/model/format';
import { Action } from '../shared/action';
import { Grid, type Column } from '../shared/grid';
import { cluster, query, slow, store, viewNow } from '../shared/page';
import { Elsewhere } from '../shared/elsewhere';
import { Panel } from '../shared/panel';
import type { BarrierRow } from '../shared/model/protocol';
import { Chip } from '../shared/shape';
import { BarrierName, Clipped, More } from '../shared/text';
import { Ago } from '../shared/when';
import { api, send } from '../shared/rest';
import { address, choose, chosen, follow } from '../shared/route';

const NAMES_SHOWN = 24;

const nameOf = (b: BarrierRow): string => `${b.id}#${b.counter}`;

export function Barriers() {
  slow.value;
  const of = cluster();
  const wanted = query.value.trim().toLowerCase();
  const all = store.barriers.all().filter((b) => b.cluster === of?.name && (!wanted || b.id.toLowerCase().includes(wanted)));
  const named = chosen('id').value; // the barrier that a link selects
  // The earliest deadline is the most urgent.
  const running = all.filter((b) => b.state === 'RUNNING').sort((a, b) => Number(b.id === named) - Number(a.id === named) || (a.deadline || Infinity) - (b.deadline || Infinity));
  const known = new Map(useBarrierMembers(running).map((b) => [`${b.id}#${b.counter}`, b]));
  const ended = all.filter((b) => b.state !== 'RUNNING').sort((a, b) => b.ended - a.ended);
  return (
    <div class="panels">
      <Panel
        id="running"
        title="Waiting now"
        note={running.length > 1 && 'shortest remaining time first'}
        span={12}
        aside={of && of.barriers > running.length && !wanted && <span class="note">{count(of.barriers)} in all</span>}
      >
        {running.map((b) => (
          <Running key={nameOf(b)} barrier={b} known={known.get(nameOf(b))} />
        ))}
        {running.length === 0 && (
          <p class="calm">
            {wanted ? (
              `No running barrier has a name that contains “${query.value}”.`
            ) : (
              <>
                No task is waiting at a barrier.
                <Elsewhere what="Barriers" />
              </>
            )}
          </p>
        )}
      </Panel>
      <p class="foot span-12">
        To see which tasks arrive last, and how often, open{' '}
        <a href={address('/agreement/stragglers')} onClick={follow}>
          stragglers
        </a>{' '}
        for the last barriers that passed.
      </p>
      <Ended rows={ended} />
    </div>
  );
}

function Running({ barrier: b, known }: { barrier: BarrierRow; known: BarrierView | undefined }) {
  const all = useSignal(false);
  const now = viewNow();
  const missing = b.of - b.arrived;
  const shown = all.value ? b.missing : b.missing.slice(0, NAMES_SHOWN);
  const left = b.deadline > 0 ? b.deadline - now : Infinity;
  const hurried = left < 0.25 * (b.deadline - b.started);
  return (
    <div class={`progress barrier${chosen('id').value === b.id ? ' is-chosen' : ''}`} data-testid="barrier" data-barrier={b.id}>
      <div class="progress-head">
        <b class="mono wrap">
          <bdi>{b.id}</bdi>
          {b.counter > 0 && <span class="soft"> #{b.counter}</span>}
        </b>
        <span>
          <b class={hurried ? 'text-error' : 'text-late'}>{count(missing)} missing</b> of {count(b.of)} · {age(now - b.started)}
          {b.deadline > 0 && ` of ${age(b.deadline - b.started)} · ${left > 0 ? `${age(left)} left` : 'timed out'}`}
        </span>
      </div>
      {known?.arrivals ? <Members all={members(known)} /> : <Bar parts={[{ kind: hurried ? 'failed' : 'late', n: b.arrived }]} total={b.of} />}
      <h3 class="names-head">Missing</h3>
      <ul class="names" aria-label="Missing">
        {shown.map((m) => (
          <li key={m.task} data-testid="missing" title={m.address ? `${m.task} at ${m.address}` : m.task}>
            <code>
              <bdi>{taskName(m.task)}</bdi>
            </code>{' '}
            <span class="soft">{m.seen > 0 ? `seen ${age(now - m.seen)} ago${m.address ? ` · ${hostOf(m.address)}` : ''}` : 'never connected'}</span>
          </li>
        ))}
        {b.missing.length > shown.length ? (
          <More n={missing - shown.length} show={() => (all.value = true)} />
        ) : (
          missing > shown.length && <li class="rest soft">and {count(missing - shown.length)} more: muster barriers show</li>
        )}
      </ul>
      <div class="progress-foot">
        {b.first && (
          <span>
            first: <bdi>{taskName(b.first)}</bdi>
          </span>
        )}
        <span class="push">
          <Cancel barrier={b} />
        </span>
      </div>
    </div>
  );
}

function Members({ all }: { all: readonly Member[] }) {
  const more = useSignal(false);
  const arrived = all.filter((m) => m.came > 0);
  const first = arrived[0]?.came ?? 0;
  const after = (m: Member) => (m === arrived[0] ? clock(m.came) : `+${age(m.came - first)}`);
  const shown = more.value ? arrived : arrived.slice(0, NAMES_SHOWN);
  return (
    <>
      <div class="members" data-testid="members" data-arrived={arrived.length} role="img" aria-label={`${plural(arrived.length, 'member')} of ${count(all.length)} arrived`}>
        {all.map((m) => (
          <i key={m.task} class={m.came ? 'is-there' : ''} title={m.came ? `${m.task} arrived ${moment(m.came)}` : `${m.task} is missing`} />
        ))}
      </div>
      <h3 class="names-head">Arrived</h3>
      <ul class="names" aria-label="Arrived">
        {shown.map((m) => (
          <li key={m.task} data-testid="arrived" data-came={m.came} title={moment(m.came)}>
            <code>
              <bdi>{m.task}</bdi>
            </code>{' '}
            <span class="soft">{after(m)}</span>
          </li>
        ))}
        <More n={arrived.length - shown.length} show={() => (more.value = true)} />
      </ul>
    </>
  );
}

function Cancel({ barrier: b }: { barrier: BarrierRow }) {
  return (
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
  );
}

const columns: readonly Column<BarrierRow>[] = [
  {
    title: 'Result',
    width: '92px',
    cell: (b) => (b.state === 'PASSED' ? <Chip shape="connected">Passed</Chip> : <Chip shape="error">Failed</Chip>),
  },
  {
    title: 'Barrier',
    width: 'minmax(160px, 2fr)',
    cell: (b) => <BarrierName {...b} />,
  },
  {
    title: 'Arrived',
    width: '110px',
    right: true,
    cell: (b) => (
      <>
        {count(b.arrived)} <span class="soft">of {count(b.of)}</span>
      </>
    ),
  },
  { title: 'Took', width: '70px', right: true, cell: (b) => age(b.ended - b.started) },
  { title: 'Ended', width: '86px', right: true, cell: (b) => <Ago ms={b.ended} /> },
  {
    title: 'Reason',
    width: 'minmax(160px, 3fr)',
    cell: (b) => <Clipped text={b.error} kind="soft" />,
  },
];

function Ended({ rows }: { rows: BarrierRow[] }) {
  const picked = chosen('barrier').value || null;
  const row = rows.find((b) => nameOf(b) === picked);
  return (
    <Panel id="ended" title="Finished" note={rows.length > 0 && 'newest first'} span={12} aside={store.barriers.more > 0 && <span class="note">only the newest barriers</span>}>
      <Grid
        id="ended"
        columns={columns}
        rows={rows}
        name={nameOf}
        kind={(b) => (b.state === 'FAILED' ? 'row-error' : '')}
        data={(b) => ({ 'data-barrier': b.id, 'data-state': b.state })}
        chosen={picked}
        choose={(name) => choose({ barrier: name ?? '' }, 'replace')}
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
    </Panel>
  );
}
