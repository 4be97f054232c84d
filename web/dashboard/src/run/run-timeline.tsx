// A canvas with a lane for each rank, below a strip for its machine. The data under the crosshair and the events within the range
// are shown below as text.

import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { useBarrierMembers } from '../agreement/barrier-members';
import { age, moment } from '../shared/model/format';
import type { MachineView } from './model/machines';
import { laneAt, layoutOf, machineAt, type Layout } from './model/layout';
import { lookAt, MARKS, pinched, summary, zoomed, type MarkKind, type Range, type RunTimeline, type Seen } from './model/timeline';
import { curveOf, metAt, NO_STEPS, stepAt, type RunSteps } from './model/steps';
import { isOver } from '../shared/model/counts';
import type { AttemptView, ProgramView, RankView } from '../shared/model/programs';
import { slow, store } from '../shared/page';
import { color, repaint } from '../shared/theme';
import { Panel } from '../shared/panel';
import { Happened } from './happened';
import { Outages, useOutages } from './outages';
import { useRunTimeline } from './moving';
import { fresh, paintRun } from './paint';
import { POINT_PX } from './paint-steps';
import { crosshair, lookAtRange, lookedAt } from '../shared/range';
import { rankNow, selectRank } from './inspect';
import type { Details } from './seen';
import { StepTable } from './step-table';
import { useSteps } from './steps';

const NO_MACHINES: readonly MachineView[] = [];

interface Cross {
  x: number; // position as a fraction of the width
  lane: number;
}

interface Props {
  p: ProgramView;
  attempts: readonly AttemptView[];
  ranks: readonly RankView[];
  machines: readonly MachineView[];
  details: Details;
}

export function RunTimelinePanel({ p, attempts, ranks, machines, details }: Props) {
  slow.value;
  const alerts = store.attention.all().filter(({ link }) => link.startsWith(`/programs/${p.id}`));
  const meetings = useBarrierMembers(store.barriers.all().filter((b) => b.cluster === p.coordination_cluster && b.state === 'RUNNING'));
  const steps = useSteps(
    p,
    attempts.reduce((n, a) => Math.max(n, a.ranks), 0),
    lookedAt(),
  );
  const outages = useOutages(isOver(p));
  return (
    <TimelinePanel
      attempts={attempts}
      ranks={ranks}
      seen={{ details, alerts, meetings, outages, hang: isOver(p) ? undefined : p.hang }}
      ended={isOver(p)}
      machines={machines}
      steps={steps}
      select={selectRank}
    />
  );
}

interface Timeline {
  attempts: readonly AttemptView[];
  ranks: readonly RankView[];
  seen: Seen;
  ended: boolean;
  machines?: readonly MachineView[];
  steps?: RunSteps;
  select?(rank: number): void; // called when a lane is selected
}

export function TimelinePanel({ attempts, ranks, seen, ended, machines = NO_MACHINES, steps = NO_STEPS, select }: Timeline) {
  slow.value;
  const base = useRef<HTMLCanvasElement>(null);
  const cross = useSignal<Cross | null>(null);
  const drag = useSignal<number | null>(null);
  const wide = useSignal(0);
  const t = useRunTimeline(ended, attempts, ranks, seen, wide.value);
  const view = lookedAt() ?? t;
  const stepped = steps.cells.length > 0;
  const layout = useMemo(() => layoutOf(t, machines, stepped), [machines, t.lanes, stepped]);
  const curve = useMemo(() => (stepped ? curveOf(steps.cells, view, Math.max(1, Math.floor(wide.value / POINT_PX))) : null), [steps, view.from, view.to, wide.value]);
  const shown = repaint.value;
  const width = wide.value;
  useEffect(() => {
    const began = performance.now();
    const got = fresh(base.current, layout.height);
    if (got) paintRun(...got, t, layout, view, steps, curve);
    if (base.current) base.current.dataset.ms = (performance.now() - began).toFixed(1);
  }, [t, view.from, view.to, layout, steps, width, shown]);
  useEffect(() => {
    if (!base.current) return;
    const observer = new ResizeObserver(() => (wide.value = base.current?.clientWidth ?? 0));
    observer.observe(base.current);
    return () => observer.disconnect();
  }, [t.lanes.length > 0]);

  if (t.lanes.length === 0) return null;
  return (
    <Panel
      id="run"
      title="Timeline"
      note={summary(t, attempts.length, seen.each)}
      span={12}
      aside={
        <button type="button" data-testid="run-reset" disabled={view === t} onClick={() => lookAtRange(null)}>
          Whole run
        </button>
      }
    >
      <div class="run">
        <div class="run-names" aria-hidden="true">
          {layout.names.map(({ top, text }) => (
            <span key={top} class="clip" title={text} style={{ top: `${top}px` }}>
              {text}
            </span>
          ))}
        </div>
        <Lanes t={t} layout={layout} view={view} cross={cross} drag={drag} canvas={base} select={select} />
      </div>
      <p class="readout" data-testid="run-legend">
        {legend(t, layout, steps).map(([token, word, look]) => (
          <span key={word}>
            {token && <i class={`swatch${look ? ` is-${look}` : ''}`} style={{ [look === 'outlined' ? 'borderColor' : 'backgroundColor']: color(token) }} />} {word}
          </span>
        ))}
      </p>
      <At t={t} view={view} cross={cross} layout={layout} attempts={attempts} known={seen.each === 'run' ? attempts.length : (seen.details?.size ?? 0)} steps={steps} />
      <StepTable t={t} steps={steps} view={view} />
      <Happened t={t} view={view} look={(at) => lookAtRange(zoomed({ from: at - 15_000, to: at + 15_000 }, 0, 1, t))} />
    </Panel>
  );
}

function legend(t: RunTimeline, layout: Layout, steps: RunSteps): (readonly [token: string, word: string, look?: 'outlined' | 'hatched'])[] {
  const kinds = [...new Set(t.marks.map((m) => m.kind))].map((kind: MarkKind) => MARKS[kind]);
  const late = t.barriers.filter((b) => b.late).length;
  return [
    ...kinds,
    ...(t.waits.some((w) => !w.awaited) ? [['running', 'waiting for the others', 'hatched'] as const] : []),
    ...(t.waits.some((w) => w.awaited) ? [['error', 'the others wait for it'] as const] : []),
    ...(late > 0 ? [['error', 'line: a barrier at which a rank was late'] as const] : []),
    ...(late < t.barriers.length ? [['', 'thin lines: barriers'] as const] : []),
    ...(t.gaps.length > 0 ? [['error-bg', 'restart'] as const] : []),
    ...(steps.cells.length > 0 ? [['late', 'slow steps; line: longest step of all ranks'] as const, ['k0', 'median step'] as const] : []),
    ...(steps.met.length > 0 ? [['text', 'lower part of a lane: waiting at a barrier'] as const] : []),
    ...(layout.strips.length > 0 ? [['heat0', 'busy cores of the machine'] as const, ['k2', 'memory of the machine'] as const] : []),
  ];
}

interface LanesProps {
  t: RunTimeline;
  layout: Layout;
  view: Range;
  cross: Signal<Cross | null>;
  drag: Signal<number | null>;
  canvas: { current: HTMLCanvasElement | null };
  select: ((rank: number) => void) | undefined;
}

function Lanes({ t, layout, view, cross, drag, canvas, select }: LanesProps) {
  const box = useRef<HTMLDivElement>(null);
  const fingers = useRef(new Map<number, number>()); // positions as fractions of the width, by pointer
  const now = useRef({ t, view });
  now.current = { t, view };
  useEffect(() => {
    // A pinch on a trackpad is a wheel event with ctrl; other wheel events scroll the page.
    const wheel = (e: WheelEvent) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      const r = box.current!.getBoundingClientRect();
      const at = (e.clientX - r.left) / r.width;
      const factor = Math.exp(Math.max(-60, Math.min(60, e.deltaY)) / 100);
      const { t: whole, view: of } = now.current;
      lookAtRange(zoomed(of, at - at * factor, at + (1 - at) * factor, whole), 'replace');
    };
    box.current?.addEventListener('wheel', wheel, { passive: false });
    return () => box.current?.removeEventListener('wheel', wheel);
  }, []);

  const last = t.lanes.length - 1;
  const chosenLane = select ? t.lanes.findIndex(({ rank }) => rank === rankNow()) : -1;
  const fraction = (e: PointerEvent) => {
    const r = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
  };
  const where = (e: PointerEvent) => {
    const x = fraction(e);
    cross.value = { x, lane: laneAt(layout, e.clientY - box.current!.getBoundingClientRect().top) };
    crosshair.value = view.from + x * (view.to - view.from);
    return x;
  };
  const down = (e: PointerEvent) => {
    const x = where(e);
    fingers.current.set(e.pointerId, x);
    drag.value = fingers.current.size === 1 ? x : null;
    (e.currentTarget as HTMLElement).setPointerCapture(e.pointerId);
  };
  const move = (e: PointerEvent) => {
    const held = fingers.current;
    const before = [...held.values()];
    const x = where(e);
    if (!held.has(e.pointerId)) return;
    held.set(e.pointerId, x);
    const after = [...held.values()];
    if (held.size === 2) lookAtRange(pinched(view, [before[0]!, before[1]!], [after[0]!, after[1]!], t), 'replace');
  };
  const up = (e: PointerEvent) => {
    const x = where(e);
    const began = drag.value;
    if (began !== null && Math.abs(x - began) > 0.01) lookAtRange(zoomed(view, Math.min(began, x), Math.max(began, x), t));
    else if (began !== null) pick(cross.value?.lane ?? -1);
    gone(e);
  };
  const gone = (e: PointerEvent) => {
    fingers.current.delete(e.pointerId);
    drag.value = null;
  };
  const pick = (n: number) => {
    const lane = t.lanes[n];
    if (lane) select?.(lane.rank);
  };
  const keyed = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const { x, lane } = cross.value ?? { x: 0.5, lane: 0 };
    const zoom = (begin: number, end: number) => lookAtRange(zoomed(view, begin, end, t), 'replace');
    const step = (dx: number, dy: number) => {
      if (x + dx < 0 || x + dx > 1) zoom(dx, 1 + dx); // at the edge, the visible range moves
      cross.value = { x: Math.min(1, Math.max(0, x + dx)), lane: Math.min(last, Math.max(0, lane + dy)) };
      crosshair.value = view.from + cross.value.x * (view.to - view.from);
      if (dy !== 0 && rankNow() >= 0) pick(cross.value.lane); // the inspector follows the crosshair
    };
    if (e.key === 'ArrowLeft') step(-0.02, 0);
    else if (e.key === 'ArrowRight') step(0.02, 0);
    else if (e.key === 'ArrowUp') step(0, -1);
    else if (e.key === 'ArrowDown') step(0, 1);
    else if (e.key === '+') zoom(x - 0.25, x + 0.25);
    else if (e.key === '-') zoom(x - 1, x + 1);
    else if (e.key === '0') lookAtRange(null);
    else if (e.key === 'Enter') pick(lane);
    else if (e.key === 'Escape' && rankNow() >= 0) select?.(-1);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const sheet = { display: 'block', width: '100%', height: `${layout.height}px` };
  return (
    <div
      ref={box}
      data-testid="run-timeline"
      data-gaps={t.gaps.length}
      data-marks={t.marks.length}
      data-barriers={t.barriers.length}
      data-waits={t.waits.filter((w) => !w.awaited).length}
      data-awaited={t.waits
        .filter((w) => w.awaited)
        .map((w) => t.lanes[w.lane]?.name)
        .join()}
      data-strips={layout.strips.length}
      data-from={view.from}
      data-to={view.to}
      role="group"
      tabIndex={0}
      aria-label="Timeline of ranks. Arrows move the crosshair, Enter selects a rank, plus and minus zoom, 0 shows the whole run."
      onKeyDown={keyed}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={gone}
      onPointerLeave={() => (cross.value = crosshair.value = null)}
      style={{ position: 'relative', cursor: 'crosshair', touchAction: 'pan-y' }}
    >
      <canvas ref={canvas} aria-hidden="true" data-testid="run-canvas" style={sheet} />
      <Outages all={t.outages} view={view} />
      {chosenLane >= 0 && <i class="run-chosen" style={{ top: `${(layout.tops[chosenLane] ?? 0) - 1}px`, height: `${Math.max(4, layout.each + 1)}px` }} />}
      <Crosshair cross={cross} drag={drag} view={view} />
    </div>
  );
}

// Moving these two elements repaints nothing.
function Crosshair({ cross, drag, view }: Pick<LanesProps, 'cross' | 'drag' | 'view'>) {
  const elsewhere = crosshair.value; // time at which another chart shows its crosshair
  const began = drag.value;
  const x = cross.value?.x ?? (elsewhere === null ? -1 : (elsewhere - view.from) / (view.to - view.from));
  if (x < 0 || x > 1) return null;
  const share = (part: number) => `${(100 * part).toFixed(3)}%`;
  return (
    <>
      {began !== null && <i class="run-drag" style={{ left: share(Math.min(began, x)), width: share(Math.abs(x - began)) }} />}
      <i class="run-cross" style={{ left: share(x) }} />
    </>
  );
}

interface AtProps {
  t: RunTimeline;
  view: Range;
  cross: Signal<Cross | null>;
  layout: Layout;
  attempts: readonly AttemptView[];
  known: number;
  steps: RunSteps;
}

function At({ t, view, cross, layout, attempts, known, steps }: AtProps) {
  const at = cross.value;
  let text = `${moment(view.from)} to ${moment(view.to)} (${age(view.to - view.from)}). Drag or pinch to zoom.`;
  if (at) {
    const time = view.from + at.x * (view.to - view.from);
    const lane = t.lanes[at.lane];
    const near = (view.to - view.from) / 100;
    text = [moment(time), lookAt(t, at.lane, time, near), lane && stepAt(steps, lane.rank, time), lane && metAt(steps.met, lane.rank, time, near / 4), lane && machineAt(layout, lane.host, time)]
      .filter(Boolean)
      .join(' · ');
  } else if (known < attempts.length - 1) text += ` For the first ${attempts.length - known} attempts, only the total time is shown, not the individual ranks.`;
  return (
    <p class="soft wrap" data-testid="run-at" aria-live="polite">
      <bdi>{text}</bdi>
    </p>
  );
}
