// The task stream of a single job. If the server no longer has the bars, they are derived from the list of closures.

import { signal, useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { executedOf, isOver } from '../shared/model/counts';
import { age, count, plural } from '../shared/model/format';
import { selectCall } from './inspect';
import { Outages, useOutages } from './outages';
import { streamOf, type Ran } from './model/job-picture';
import type { JobView } from '../shared/model/views';
import { Stream } from '../explore/model/stream';
import { around, spanOf, type View } from '../shared/model/time-view';
import { slow, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { StreamCanvas } from '../explore/stream-canvas';
import { address, choose, follow } from '../shared/route';
import { useFeed } from '../explore/feed';
import { Legend, useHues } from '../explore/legend';
import { askStream, StreamFeed } from '../explore/stream-client';
import { looking, useLooking, zoom, type Looking } from '../explore/stream-state';

const MOST_HIGH = 380; // maximum height of all lanes in pixels, so that the list of closures stays visible
const LANE = [24, 44] as const; // least and largest height of a lane

// The range ends at the current time while the job is running.
const whole = (job: JobView, began: number): View => around(began, job.finished_ms || viewNow());

export function JobTimeline({ job, all }: { job: JobView; all: readonly Ran[] | null }) {
  slow.value;
  const feed = useRef<StreamFeed | null>(null);
  feed.current ??= new StreamFeed(askStream);
  const { stream: live } = feed.current;
  const version = useSignal(0);
  const problem = useMemo(() => signal(''), []);
  // Before its first closure, the job was only waiting.
  const began = all?.reduce((least, r) => Math.min(least, r.from), Infinity) ?? Infinity;
  const start = Number.isFinite(began) ? began : job.created_ms;
  const set = useRef<Looking>({ follow: false, view: whole(job, start) });
  useLooking(set.current);
  const over = isOver(job);
  useFeed(feed.current, { tasks: '', job: job.id, cluster: '', until: over ? job.finished_ms : 0 }, version, problem);
  const end = over ? job.finished_ms : Math.floor(viewNow() / 1000);
  const untouched = looking.value === set.current;
  useEffect(() => {
    if (looking.peek() !== set.current) return;
    looking.value = set.current = { follow: false, view: whole(job, start) };
  }, [end, start]);

  const ended = executedOf(job.counts);
  // The stream lacks short closures of which the server stores only sums, and closures from before a restart of the server.
  const drawn = live.at.count.subarray(0, live.size).reduce((sum, n) => sum + n, 0);
  const complete = drawn >= ended;
  const old = !complete && job.counts.running === 0 && all !== null && all.length > 0 && (all.length === ended || (over && live.size === 0));
  const listed = useMemo(() => {
    const stream = new Stream();
    if (old) stream.apply(streamOf(all, job.id, job.cluster ?? '', viewNow()), true);
    return stream;
  }, [old, all]);
  const stream = old ? listed : live;
  const outages = useOutages(over);
  const hues = useHues(stream);
  // Blocks for whole minutes are omitted, because they cover all of a worker's jobs.
  const lanes = useMemo(() => stream.lanes.filter((lane) => lane.bars.length > 0 || lane.running.length > 0).map((lane) => ({ ...lane, minutes: [] })), [stream, version.value]);
  if (lanes.length === 0 || version.value === 0) return null;
  const at = looking.value;
  const view = at.follow ? whole(job, start) : at.view;
  const part = old && all.length < ended ? `the first ${count(all.length)} of ${plural(ended, 'closure')}` : '';
  const missing = !old && live.since > start ? `bars of the last ${age(viewNow() - live.since)}` : '';
  const reset = () => {
    looking.value = set.current = { follow: false, view: whole(job, start) };
    choose({ from: '', to: '', span: '' }, 'replace');
  };
  return (
    <Panel
      id="when"
      title="Timeline"
      note={[(old || complete) && plural(lanes.length, 'worker'), age(untouched ? (job.finished_ms || viewNow()) - start : spanOf(view)), part || missing].filter(Boolean).join(', ')}
      span={12}
      aside={
        <div class="actions">
          <button type="button" aria-label="Zoom in" title="Zoom in (+, or Ctrl and mouse wheel)" onClick={() => zoom(0.5)}>
            +
          </button>
          <button type="button" data-testid="job-whole" disabled={untouched} onClick={reset}>
            Whole job
          </button>
          <a class="button" href={address('/explore/stream', { job: job.id, from: String(Math.floor(view.from)), to: String(Math.ceil(view.to)) })} onClick={follow}>
            In the task stream
          </a>
        </div>
      }
    >
      <div data-testid="job-timeline" data-bars={stream.size} data-lanes={lanes.length}>
        <StreamCanvas
          stream={stream}
          version={version.value}
          lanes={lanes}
          most={MOST_HIGH}
          least={Math.max(LANE[0], Math.min(LANE[1], Math.floor(MOST_HIGH / Math.max(1, lanes.length))))}
          over={<Outages all={outages} view={view} />}
          hues={hues}
          job={job.id}
          select={selectCall}
          sentence={`${plural(ended, 'closure')} of this job, ${count(job.counts.failed)} failed. Arrow keys move in time and between workers, Shift and arrow keys move from bar to bar, Enter opens. The list below contains the same information.`}
        />
        <Legend stream={stream} hues={hues} />
      </div>
    </Panel>
  );
}
