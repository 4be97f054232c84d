import type { ComponentChildren } from 'preact';
import { Bar } from '../shared/bar';
import { age, count, short, span } from '../shared/model/format';
import type { Series } from '../shared/model/history';
import { taskTotals, type TaskTotals } from '../shared/model/map-groups';
import { slow, store } from '../shared/page';
import type { Counters } from '../shared/model/protocol';
import type { Shape } from '../shared/model/shape';
import { Chip } from '../shared/shape';
import { Spark } from '../shared/spark';

export function KeyNumbers() {
  slow.value;
  const { counters, hello } = store;
  const totals = counters && taskTotals(counters.tasks, store.clusters.all());
  return (
    <section class="panel keys span-12" aria-label="Key numbers">
      <Key label="Tasks connected" testid="key-tasks" value={totals && count(totals.connected)} of={totals && `of ${count(totals.total)}`}>
        {totals && <TaskStates tasks={totals} />}
      </Key>
      <Key label="Closures per second" testid="key-throughput" value={counters && short(counters.rates.finished)} spark="finished" token="connected">
        {counters && <Failures counters={counters} />}
      </Key>
      <Key label="Queue depth" testid="key-queue" value={counters && short(counters.closures.queued)} spark="queued" token="late">
        {counters && queueLine(counters)}
      </Key>
      <Key label="Heartbeat age, p99" testid="key-heartbeat" value={counters && heartbeat(counters)} spark="hb_p99" token="control">
        {hello && `interval ${span(hello.heartbeat_ms)} · late after ${span(hello.late_ms)}`}
      </Key>
      <Key label="Remote values" testid="key-values" value={counters && short(counters.remote_values.ready)} of={counters && 'ready'}>
        {counters && <Values values={counters.remote_values} />}
      </Key>
    </section>
  );
}

interface KeyProps {
  label: string;
  testid: string;
  value: string | null;
  of?: string | null;
  spark?: Series;
  token?: string;
  children: ComponentChildren;
}

function Key({ label, testid, value, of, spark, token, children }: KeyProps) {
  // The unit in "47.4 k" belongs to the number; the unit in "989 ms" is smaller. Screen readers read both as one text.
  const [digits, unit] = (value ?? '–').split(/ (?=ms$|s$)/);
  return (
    <div class="key" data-testid={testid}>
      <h2>{label}</h2>
      <div class="key-row">
        <strong>{digits}</strong>
        {(unit || of) && <span class="key-of"> {unit ?? of}</span>}
        {spark && <Spark series={spark} token={token!} />}
      </div>
      <div class="key-sub">{children}</div>
    </div>
  );
}

function heartbeat({ tasks, heartbeat_age_ms }: Counters): string {
  return tasks.total === 0 ? '–' : age(heartbeat_age_ms.p99);
}

function TaskStates({ tasks }: { tasks: TaskTotals }) {
  const parts: [Shape, number, string][] = [
    ['error', tasks.error, 'error'],
    ['disconnected', tasks.gone, 'disconnected'],
    ['late', tasks.late, 'late'],
    ['restarting', tasks.missing, 'not connected yet'],
    ['waiting', tasks.unheard, 'silent since the server restarted'],
  ];
  const shown = parts.filter(([, n]) => n > 0);
  if (shown.length === 0) return <>{tasks.total === 0 ? 'no task has joined yet' : 'all tasks'}</>;
  return (
    <>
      {shown.map(([shape, n, word]) => (
        <Chip key={shape} shape={shape}>
          {short(n)} {word}
        </Chip>
      ))}
    </>
  );
}

function Failures({ counters }: { counters: Counters }) {
  const { failed, finished } = counters.rates;
  // A few failures among thousands are normal; one failure in a hundred is not.
  return <span class={failed > 0 && failed * 100 >= finished ? 'text-error' : ''}>{short(failed)} failed/s</span>;
}

function queueLine({ closures, rates }: Counters): string {
  const parts = [`${short(closures.running)} running`];
  if (closures.blocked > 0) parts.push(`${short(closures.blocked)} blocked`);
  // Little's law: queue length divided by throughput.
  if (closures.queued > 0 && rates.finished >= 1) parts.push(`wait ≈ ${age((1000 * closures.queued) / rates.finished)}`);
  return parts.slice(0, 2).join(' · ');
}

function Values({ values }: { values: Counters['remote_values'] }) {
  const { ready, not_ready, aborted } = values;
  const parts = [
    { kind: 'ready', n: ready },
    { kind: 'waiting', n: not_ready },
    { kind: 'error', n: aborted },
  ];
  return (
    <>
      <Bar parts={parts} total={ready + not_ready + aborted} />
      <span>{short(not_ready)} not ready</span>
      {aborted > 0 && <b class="text-error">{short(aborted)} aborted</b>}
    </>
  );
}
