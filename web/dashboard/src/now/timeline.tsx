// One timeline of the last 15 minutes: throughput as a chart, and below it starts, failures and restarts as marks.

import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { MARK_KINDS, MARK_WORDS, marksAt, marksOf, type Mark } from './model/marks';
import { extremes, fromSamples, joined, live, notable, type SamplesBody } from './model/points';
import { useLooked } from '../shared/looked';
import type { ChartProps } from '../shared/chart';
import { lazy } from '../shared/lazy';
import { clock, plural, short } from '../shared/model/format';
import type { EventRow } from '../shared/model/protocol';
import { slow, store, viewNow } from '../shared/page';
import { Panel } from '../shared/panel';
import { api } from '../shared/rest';
import { address, follow, go } from '../shared/route';

const PAST_S = 900;
const HEIGHT = 132;
const AXIS = 76; // px; the names of the marks are as wide as the axis
const EVENTS_MS = 10_000;
const NEAR_MS = 10_000;
const NO_MARKS: ChartProps['markers'] = [];

const LINES = [
  { token: 'connected', filled: true },
  { token: 'error', filled: false },
] as const;

const Drawn = lazy<ChartProps>(
  async () => (await import('../shared/chart')).Chart,
  () => null,
);

export function Timeline({ lastHour }: { lastHour: SamplesBody | null }) {
  slow.value;
  const at = useSignal<number | null>(null);
  const samples = useMemo(() => (lastHour ? fromSamples(lastHour) : null), [lastHour]);
  const { version } = store.history;
  const points = useMemo(() => joined(samples, live(store.history)), [samples, version]);
  const end = points.seconds.at(-1) ?? (store.serverNow || Date.now()) / 1000;
  const from = end - PAST_S;
  const marks = useMarks(from * 1000);
  const { finished = [], failed = [] } = points.columns;
  const data = useMemo(() => [points.seconds, finished, notable(failed, finished)] as ChartProps['data'], [points]);
  const second = at.value === null ? undefined : points.seconds[at.value];
  const near = second === undefined ? [] : marksAt(marks, second * 1000, NEAR_MS);
  const counts = MARK_KINDS.map((kind) => marks.filter((mark) => mark.kind === kind).length);
  const most = extremes(finished).most;
  const sentence = `Last 15 minutes: at most ${short(most)} closures per second; ${plural(counts[0]!, 'start')}, ${plural(counts[1]!, 'failure')}, ${plural(counts[2]!, 'restart')}.`;
  return (
    <Panel
      id="timeline"
      title="Last 15 minutes"
      note={
        second === undefined ? (
          'closures ended per second'
        ) : (
          <bdi>
            {[clock(second * 1000), `${short(finished[at.value!] ?? 0)} ended/s`, failed[at.value!] ? `${short(failed[at.value!]!)} failed/s` : '', ...near.map(({ text }) => text)]
              .filter(Boolean)
              .join(' · ')}
          </bdi>
        )
      }
      aside={
        <a href={address('/explore/stream')} onClick={follow}>
          Task stream
        </a>
      }
      span={12}
    >
      <div class="now-chart" role="img" aria-label={sentence} data-testid="now-timeline" data-marks={counts.join(' ')}>
        <Drawn lines={LINES} data={data} from={from} end={end} height={HEIGHT} axis={AXIS} markers={NO_MARKS} onZoom={openStream} onCursor={(n) => (at.value = n)} />
        <dl class="lanes" style={{ '--axis': `${AXIS}px` }}>
          {MARK_KINDS.map((kind) => (
            <div key={kind}>
              <dt>{MARK_WORDS[kind]}</dt>
              <dd>
                <Lane marks={marks.filter((mark) => mark.kind === kind)} from={from * 1000} end={end * 1000} />
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Panel>
  );
}

function Lane({ marks, from, end }: { marks: readonly Mark[]; from: number; end: number }) {
  return (
    <svg width="100%" height="14" aria-hidden="true">
      {marks.map(({ kind, at_ms, text }, n) => (
        <rect key={`${at_ms} ${n}`} x={`${((100 * (at_ms - from)) / (end - from)).toFixed(2)}%`} y="1" width="3" height="12" class={`fill-${kind}`}>
          <title>{`${clock(at_ms)} ${text}`}</title>
        </rect>
      ))}
    </svg>
  );
}

function openStream(from: number, to: number): void {
  if (to > from) go(address('/explore/stream', { from: String(Math.floor(from * 1000)), to: String(Math.ceil(to * 1000)) }));
}

function useMarks(from: number): readonly Mark[] {
  // The request changes once a minute; the answer covers the whole timeline in between.
  const since = Math.floor(viewNow() / 60_000) * 60_000 - PAST_S * 1000;
  const looked = useLooked<{ events: EventRow[] }>(store.serverNow > 0 ? api('events', { from_ms: String(Math.max(0, since)), limit: '1000' }) : '', { every: EVENTS_MS, keep: true });
  const key = `${store.jobsVersion} ${store.programs.version} ${Math.round(from / 1000)}`;
  return useMemo(() => marksOf(looked.value?.events ?? [], store.jobs(), store.programs.all(), from), [looked.value, key]);
}
