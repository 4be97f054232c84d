// The cluster map: one cell a task, grouped by job. The only view in which 10,000 tasks and one bad host are both visible.

import { signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { joinAddress } from '../model/attention';
import { age, count, plural } from '../model/format';
import { cellAt, cellBeside, cellPlace, layout, type CellRef, type Layout } from '../model/map-layout';
import { paint, type MapMode } from './map-paint';
import { fast, groups, selected, slow, store, viewNow } from '../page';
import { Panel } from './panel';
import { TASK_STATES } from '../model/protocol';
import { Mark, SHAPES, WORDS } from './shape';
import { useSize } from './size';
import { color, repaint } from '../theme';

const MODES: [MapMode, string][] = [
  ['state', 'State'],
  ['age', 'Heartbeat age'],
  ['load', 'Load'],
];
const MAP_HEIGHT = 340; // CSS pixels

const mode = signal<MapMode>('state');

export function ClusterMap() {
  fast.value;
  const empty = store.counters !== null && store.tasks.size === 0;
  return (
    <Panel id="map" title="Cluster map" note={empty ? 'no task yet' : 'one cell per task'} span={8} aside={!empty && <Modes />}>
      {empty ? <Join /> : <Canvas />}
      {!empty && <Legend />}
    </Panel>
  );
}

function Modes() {
  return (
    <div class="segments" role="group" aria-label="Colour cells by">
      {MODES.map(([key, word]) => (
        <button key={key} type="button" aria-pressed={mode.value === key} onClick={() => (mode.value = key)}>
          {word}
        </button>
      ))}
    </div>
  );
}

// What to do when nobody is here yet.
function Join() {
  return (
    <div class="join" data-testid="empty">
      <p>
        <b>No task has joined yet.</b> Start a worker on any machine that reaches this one:
      </p>
      <code>muster worker --server {joinAddress()}</code>
      <p class="note">It appears here within a second. JAX and TensorFlow tasks join with the same address as their coordinator.</p>
    </div>
  );
}

function Canvas() {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const cell = useSignal<CellRef | null>(null);
  const scale = devicePixelRatio;
  const grouped = groups.value;
  const map = useMemo<Layout>(
    () =>
      layout(
        grouped.map((group) => group.ids.length),
        { width: Math.max(60, Math.round(width * scale)), height: Math.round(MAP_HEIGHT * scale), scale },
      ),
    [grouped, width, scale],
  );

  const latest = useSignal(map);
  if (latest.peek() !== map) latest.value = map;

  // A frame is drawn when a state, the size or a colour changed; twice a second only where time itself is drawn.
  useSignalEffect(() => {
    fast.value;
    repaint.value;
    if (mode.value !== 'state') slow.value;
    const element = canvas.current;
    const now = latest.value;
    if (!element || now.width <= 60) return;
    if (element.width !== now.width || element.height !== now.height) {
      element.width = now.width;
      element.height = now.height;
    }
    paint(element.getContext('2d')!, {
      map: now,
      groups: groups.value,
      tasks: store.tasks,
      mode: mode.value,
      now: viewNow(),
      heartbeatMs: store.hello?.heartbeat_ms ?? 5000,
      lateMs: store.hello?.late_ms ?? 12_500,
      focus: cell.value,
    });
  });

  const onMove = (event: PointerEvent) => {
    const edge = canvas.current!.getBoundingClientRect();
    cell.value = cellAt(map, (event.clientX - edge.left) * scale, (event.clientY - edge.top) * scale);
  };
  const open = () => {
    const at = cell.value;
    const id = at && groups.value[at.group]?.ids[at.n];
    if (id === null || id === undefined) return;
    selected.value = id;
    document.getElementById('tasks')?.scrollIntoView({ block: 'nearest' });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open();
    else if (event.key === 'Escape') cell.value = null;
    else if (event.key.startsWith('Arrow') && map.blocks.length > 0) {
      event.preventDefault();
      cell.value = cell.value ? cellBeside(map, cell.value, event.key) : { group: 0, n: 0 };
    }
  };

  return (
    <div class="map" ref={box}>
      {map.blocks.map((block, n) => (
        <div key={n} class="map-label" aria-hidden="true" style={{ transform: `translateY(${block.labelTop / scale}px)` }}>
          <b>
            <bdi>{grouped[n]?.label}</bdi>
          </b>{' '}
          {plural(block.count, 'task')}
        </div>
      ))}
      <canvas
        ref={canvas}
        data-testid="cluster-map"
        role="img"
        tabIndex={0}
        aria-label={sentence()}
        aria-describedby={cell.value ? 'map-tip' : undefined}
        style={{ width: `${map.width / scale}px`, height: `${map.height / scale}px` }}
        onPointerMove={onMove}
        onPointerLeave={() => (cell.value = null)}
        onBlur={() => (cell.value = null)}
        onClick={open}
        onKeyDown={onKey}
      />
      {cell.value && <Tip at={cell.value} map={map} scale={scale} />}
    </div>
  );
}

function Tip({ at, map, scale }: { at: CellRef; map: Layout; scale: number }) {
  slow.value;
  const id = groups.value[at.group]?.ids[at.n];
  const task = id === undefined ? undefined : store.tasks.view(id);
  if (!task) return null;
  const heartbeat = store.tasks.heartbeatAge(store.tasks.slot(task.id)!, viewNow());
  const { x, y } = cellPlace(map, at);
  const right = x > map.width / 2;
  const style = {
    transform: `translate(${x / scale + (right ? -6 : map.cell / scale + 6)}px, ${y / scale}px)${right ? ' translateX(-100%)' : ''}`,
  };
  return (
    <div class="tip" role="tooltip" id="map-tip" style={style}>
      <b class="mono">
        <bdi>{task.name}</bdi>
      </b>
      <span class={`chip text-${SHAPES[task.state]}`}>
        <Mark shape={SHAPES[task.state]} /> {WORDS[task.state]} for {age(viewNow() - task.since)}
      </span>
      <span>
        <bdi>{task.host}</bdi> · heartbeat {heartbeat.exact ? '' : '< '}
        {age(heartbeat.ms)} · {task.running}/{task.slots} slots
      </span>
      {task.error && (
        <span class="text-error tip-error">
          <bdi>{task.error}</bdi>
        </span>
      )}
    </div>
  );
}

// The picture in words and numbers.
function sentence(): string {
  const { tasks } = store;
  const parts = TASK_STATES.map((state, n) => `${count(tasks.counts[n]!)} ${WORDS[state].toLowerCase()}`);
  return `Cluster map of ${plural(tasks.size, 'task')}: ${parts.join(', ')}. The task list below has the same facts.`;
}

const LEGEND = ['CONNECTED', 'LATE', 'RESTARTING', 'ERROR', 'DISCONNECTED'] as const;

function Legend() {
  slow.value;
  fast.value;
  const steps = mode.value === 'age' ? ageSteps() : mode.value === 'load' ? LOAD_STEPS : null;
  return (
    <ul class="legend" data-testid="map-legend">
      {LEGEND.map((state) => {
        if (state === 'CONNECTED' && steps) return steps.map((word, n) => <Step key={word} n={n} word={word} />);
        const n = store.tasks.counts[TASK_STATES.indexOf(state)]!;
        return (
          <li key={state} data-state={state}>
            <Mark shape={SHAPES[state]} /> {WORDS[state]} <b>{count(n)}</b>
          </li>
        );
      })}
    </ul>
  );
}

const LOAD_STEPS = ['idle', 'to half', 'above half', 'full'];

function ageSteps(): string[] {
  const beat = store.hello?.heartbeat_ms ?? 5000;
  return [`to ${age(beat)}`, `to ${age(2 * beat)}`, `to ${age(store.hello?.late_ms ?? 12_500)}`, 'older'];
}

function Step({ n, word }: { n: number; word: string }) {
  repaint.value;
  return (
    <li>
      <i class="swatch" style={{ background: color(`heat${n}`) }} /> {word}
    </li>
  );
}
