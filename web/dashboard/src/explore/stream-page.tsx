import { signal, useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { age, clock, count, duration, moment, plural } from '../shared/model/format';
import type { Lane, Stream } from './model/stream';
import { sums, type Sum } from './model/stream-look';
import { spanOf } from '../shared/model/time-view';
import { clusterQuery, query, slow, store } from '../shared/page';
import { Grid, type Column } from '../shared/grid';
import { WorkerLink } from '../shared/link';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';
import { StreamCanvas } from './stream-canvas';
import { api } from '../shared/rest';
import { choose, chosen } from '../shared/route';
import { askStream, StreamFeed } from './stream-client';
import { AtTime } from './at-time';
import { ExploreBar, rangeNow } from './bar';
import { isAll } from './model/range';
import { useFeed } from './feed';
import { Legend, useHues } from './legend';
import { currentView, liveEnd, looking, setFollow, setSpan, settled, useLooking, zoom } from './stream-state';
import { Teach } from '../shared/teach';

const ROWS = 500;
const SPANS: [number, string][] = [
  [10_000, '10 s'],
  [60_000, '1 min'],
  [300_000, '5 min'],
];

const feed = new StreamFeed(askStream);
const version = signal(0);
const problem = signal('');

export function StreamPage() {
  slow.value;
  version.value;
  useLooking();
  useFeed(feed, { tasks: chosen('tasks').value, job: chosen('job').value, cluster: clusterQuery.value }, version, problem);
  const { stream } = feed;
  const wanted = query.value.trim().toLowerCase();
  const lanes = useMemo(() => stream.lanes.filter((lane) => !wanted || lane.task.toLowerCase().includes(wanted)), [stream.lanes, wanted]);
  const hues = useHues(stream);
  const job = chosen('job').value;
  const rows = useSums(stream, lanes);
  return (
    <div class="panels tall">
      <ExploreBar why={settled.value.follow && isAll(rangeNow()) ? 'Without a range, the task stream follows the last minute. A move or a zoom in the stream changes the range.' : undefined} />
      <Panel id="stream" title="Task stream" note={note(stream, lanes)} span={12} aside={<Download job={job} />}>
        <Toolbar />
        {problem.value && (
          <p class="calm text-error" role="alert">
            <bdi>{problem.value}</bdi>
          </p>
        )}
        {lanes.length > 0 ? (
          <StreamCanvas stream={stream} version={version.value} lanes={lanes} hues={hues} job={job} sentence={sentence(lanes, rows)} />
        ) : (
          <p class="calm" data-testid="stream-empty">
            {version.value === 0 ? 'Loading…' : wanted ? `No worker has a name that contains “${query.value}”.` : <NothingRan />}
          </p>
        )}
        <Coarse stream={stream} />
        <Legend stream={stream} hues={hues} />
      </Panel>
      {lanes.length > 0 && <Table stream={stream} rows={rows} />}
    </div>
  );
}

// Updates the sums once per second, and immediately after a move.
function useSums(stream: Stream, lanes: readonly Lane[]): Sum[] {
  const second = Math.floor(slow.value / 2);
  return useMemo(() => sums(stream, lanes, currentView(), liveEnd(stream)), [second, lanes, settled.value]);
}

function note(stream: Stream, lanes: readonly Lane[]) {
  const view = currentView();
  return (
    lanes.length > 0 &&
    `${plural(lanes.length, 'worker')}, ${age(spanOf(view))}${settled.value.follow ? ' up to now' : ` from ${clock(view.from)}`}${stream.size > 0 ? ` · ${plural(stream.size, 'bar')} loaded` : ''}`
  );
}

function Toolbar() {
  slow.value;
  const at = settled.value;
  const span = at.follow ? at.span : spanOf(at.view);
  return (
    <div class="toolbar">
      <Segments label="Time span" options={SPANS} now={Math.round(span)} choose={setSpan} />
      <div class="segments" role="group" aria-label="Zoom">
        <button type="button" aria-label="Zoom in" title="Zoom in (+, or Ctrl and mouse wheel)" onClick={() => zoom(0.5)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" title="Zoom out (−, or Ctrl and mouse wheel)" onClick={() => zoom(2)}>
          −
        </button>
      </div>
      <button type="button" data-testid="stream-follow" aria-pressed={at.follow} title="Follow the current time (f)" onClick={() => setFollow(!looking.peek().follow)}>
        {at.follow ? 'Following' : 'Follow'}
      </button>
      <AtTime />
      <JobChoice />
      <Workers />
    </div>
  );
}

function NothingRan() {
  return (
    <>
      No closure ran in this period.{' '}
      <button type="button" class="plain" data-testid="stream-hour" onClick={() => setSpan(3_600_000)}>
        Show the last hour →
      </button>
      {store.jobs().length === 0 && <Teach lines={'muster worker --server HOST:PORT\nmuster submit muster.sleep 2s --url URL\nmuster submit muster.worker_info --url URL'} />}
    </>
  );
}

function JobChoice() {
  const job = chosen('job').value;
  const jobs = store.jobs();
  return (
    <label>
      <span class="soft">job</span>
      <select data-testid="stream-job" value={job} onChange={(event) => choose({ job: event.currentTarget.value })}>
        <option value="">all</option>
        {job && !jobs.some((j) => j.id === job) && <option value={job}>{job}</option>}
        {jobs.map((j) => (
          <option key={j.id} value={j.id}>
            {j.name || j.id}
          </option>
        ))}
      </select>
    </label>
  );
}

function Workers() {
  const tasks = chosen('tasks').value;
  const take = (text: string) =>
    choose({
      tasks: text
        .split(/[\s,]+/)
        .filter(Boolean)
        .join(','),
    });
  return (
    <label>
      <span class="soft">only workers</span>
      <input
        type="search"
        class="mono"
        placeholder="worker:0,worker:3"
        data-testid="stream-tasks"
        value={tasks}
        onChange={(event) => take(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && take(event.currentTarget.value)}
      />
    </label>
  );
}

function Download({ job }: { job: string }) {
  slow.value;
  settled.value;
  const view = currentView();
  const path = job
    ? api(`jobs/${encodeURIComponent(job)}/trace`)
    : api('stream/trace', { from_ms: Math.floor(view.from), to_ms: Math.ceil(view.to), tasks: chosen('tasks').value, cluster: clusterQuery.value });
  return (
    <a href={path} download data-testid="stream-trace" title="Opens in ui.perfetto.dev and in chrome://tracing">
      Perfetto trace{job && ' of the job'}
    </a>
  );
}

function Coarse({ stream }: { stream: Stream }) {
  settled.value;
  if (stream.since === 0 || currentView().from >= stream.since) return null;
  return (
    <p class="foot" data-testid="stream-coarse">
      Bars since <time title={moment(stream.since)}>{clock(stream.since)}</time>
      {stream.lanes.some((lane) => lane.minutes.length > 0) ? '; before that, one bar per minute: its height is the busy time of the worker.' : '; nothing is recorded before that.'}
    </p>
  );
}

function sentence(lanes: readonly Lane[], rows: readonly Sum[]): string {
  const view = currentView();
  const total = (of: (row: Sum) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  const facts = [
    plural(
      total((r) => r.count),
      'closure',
    ),
    `${count(total((r) => r.failed))} failed`,
    `${count(total((r) => r.running))} running`,
  ];
  return `Task stream of ${plural(lanes.length, 'worker')} from ${clock(view.from)} to ${clock(view.to)}: ${facts.join(', ')}. Arrow keys move in time and between workers, Shift and arrow keys move from bar to bar, Enter opens. The table below contains the same information.`;
}

function Table({ stream, rows }: { stream: Stream; rows: readonly Sum[] }) {
  const columns: readonly Column<Sum>[] = [
    {
      title: 'Worker',
      width: 'minmax(90px, 180px)',
      cell: (r) => <WorkerLink task={r.lane.task} of={r.lane.cluster} />,
    },
    { title: 'Function', width: 'minmax(140px, 360px)', cell: (r) => <bdi class="mono">{stream.functions[r.function]}</bdi> },
    { title: 'Closures', width: '84px', right: true, cell: (r) => count(r.count) },
    { title: 'Failed, lost', width: '84px', right: true, cell: (r) => (r.failed > 0 ? <b class="text-error">{count(r.failed)}</b> : <span class="soft">–</span>) },
    { title: 'Running', width: '72px', right: true, narrow: 'hide', cell: (r) => (r.running > 0 ? count(r.running) : <span class="soft">–</span>) },
    { title: 'Busy', width: '84px', right: true, cell: (r) => duration(r.busy * 1000) },
  ];
  const chosenRow = useSignal<string | null>(null);
  return (
    <Panel id="sums" title="Visible bars" note="by worker and function, busiest first" span={12}>
      <Grid
        id="sums"
        columns={columns}
        rows={rows.slice(0, ROWS)}
        name={(r) => `${r.lane.number}/${r.function}`}
        data={(r) => ({ 'data-task': r.lane.task, 'data-function': stream.functions[r.function] ?? '' })}
        chosen={chosenRow.value}
        choose={(name) => (chosenRow.value = name)}
        empty="No closure ran in this period."
      />
      {rows.length > ROWS && (
        <p class="foot">
          The first {count(ROWS)} of {count(rows.length)} rows.
        </p>
      )}
    </Panel>
  );
}
