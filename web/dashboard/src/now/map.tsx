// The only view that shows both 10,000 tasks and a single bad host.

import { computed, signal, useSignal, useSignalEffect } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { NoTask } from './no-task';
import { agentName } from '../shared/model/agents';
import { age, count, plural } from '../shared/model/format';
import { CELL_STATES, countStates, keptCellGroups, type CellState } from '../shared/model/map-groups';
import { cellAt, cellBeside, cellPlace, layout, type CellRef, type Layout } from './model/map-layout';
import { paint, type MapMode } from './map-paint';
import { AgentFacts, WorkerFacts } from './map-tip';
import { cluster, fast, groups, selected, slow, store, viewNow } from '../shared/page';
import { address, go, picked } from '../shared/route';
import { Panel } from '../shared/panel';
import type { Shape } from '../shared/model/shape';
import { Segments } from '../shared/segments';
import { Mark, SHAPES, WORDS } from '../shared/shape';
import { useSize } from '../shared/size';
import { color, repaint } from '../shared/theme';

const MODES: [MapMode, string][] = [
  ['state', 'State'],
  ['age', 'Heartbeat age'],
  ['load', 'Load'],
];
const MAP_HEIGHT = 340; // maximum height in CSS pixels

const mode = signal<MapMode>('state');

const groupsOf = keptCellGroups();
const shown = computed(() => {
  void [slow.value, fast.value];
  return groupsOf(store.tasks, groups.value, store.agents.all(), store.clusters.all(), picked.value ? cluster() : undefined);
});

export function ClusterMap() {
  fast.value;
  slow.value;
  const all = store.clusters.all();
  const empty = store.counters !== null && store.tasks.size === 0 && all.every((c) => c.tasks === 0);
  return (
    <Panel id="map" title="Cluster map" note={empty ? 'no task yet' : 'one cell per task'} span={12} aside={!empty && <Modes />}>
      {empty ? <NoTask /> : <Canvas />}
      {!empty && <Legend />}
    </Panel>
  );
}

const Modes = () => <Segments label="Colour cells by" options={MODES} now={mode.value} choose={(next) => (mode.value = next)} />;

function Canvas() {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(box);
  const cell = useSignal<CellRef | null>(null);
  const scale = devicePixelRatio;
  const grouped = shown.value;
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

  // Redraws when a state, the size or a colour changes. In modes that show time, also redraws twice a second.
  useSignalEffect(() => {
    fast.value;
    repaint.value;
    const cells = shown.value;
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
      groups: cells,
      tasks: store.tasks,
      mode: mode.value,
      now: viewNow(),
      heartbeatMs: store.hello?.heartbeat_ms ?? 5000,
      lateMs: store.hello?.late_ms ?? 12_500,
      focus: cell.value,
      scale,
    });
  });

  const onMove = (event: PointerEvent) => {
    const edge = canvas.current!.getBoundingClientRect();
    cell.value = cellAt(map, (event.clientX - edge.left) * scale, (event.clientY - edge.top) * scale);
  };
  const open = () => {
    const at = cell.value;
    const group = at ? shown.value[at.group] : undefined;
    const agent = group?.agents?.[at!.n];
    if (agent) return go(address('/fleet', { cluster: agent.cluster, q: agentName(agent) }));
    const id = group?.ids[at!.n];
    if (id === undefined) return;
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
        <div
          key={n}
          class="map-label"
          aria-hidden="true"
          title={grouped[n]?.label}
          style={{ transform: `translate(${block.left / scale}px, ${block.labelTop / scale}px)`, width: `${block.labelWidth / scale}px` }}
        >
          <b>
            <bdi>{grouped[n]?.label}</bdi>
          </b>{' '}
          {plural(block.count, 'task')}
          {(grouped[n]?.devices ?? 0) > 0 && `, ${plural(grouped[n]!.devices, 'device')}`}
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
  const group = shown.value[at.group];
  const agent = group?.agents?.[at.n];
  const id = group?.ids[at.n];
  if (!agent && (id === undefined || store.tasks.slot(id) === undefined)) return null;
  const { x, y } = cellPlace(map, at);
  const right = x > map.width / 2;
  const style = {
    transform: `translate(${x / scale + (right ? -6 : map.cell / scale + 6)}px, ${y / scale}px)${right ? ' translateX(-100%)' : ''}`,
  };
  return (
    <div class="tip" role="tooltip" id="map-tip" style={style}>
      {agent ? <AgentFacts agent={agent} /> : <WorkerFacts id={id!} />}
    </div>
  );
}

function sentence(): string {
  const counts = countStates(store.tasks, shown.value, picked.value ? cluster() : undefined);
  const parts = CELL_STATES.map((state, n) => `${count(counts[n]!)} ${wordOf(state).toLowerCase()}`);
  const total = counts.reduce((sum, n) => sum + n, 0);
  return `Cluster map of ${plural(total, 'task')}: ${parts.join(', ')}. The list below and the Tasks page contain the same information.`;
}

const LEGEND = ['CONNECTED', 'LATE', 'REGISTERING', 'ERROR', 'DISCONNECTED', 'UNHEARD'] as const;

// Uses the same words as the key numbers, because they count the same cells.
function wordOf(state: CellState): string {
  return state === 'UNHEARD' ? 'Silent since the server restarted' : state === 'REGISTERING' ? 'Not connected yet' : WORDS[state];
}
const shapeOf = (state: CellState): Shape => (state === 'UNHEARD' ? 'waiting' : SHAPES[state]);

function Legend() {
  slow.value;
  fast.value;
  const counts = countStates(store.tasks, shown.value, picked.value ? cluster() : undefined);
  const steps = mode.value === 'age' ? ageSteps() : mode.value === 'load' ? LOAD_STEPS : null;
  return (
    <ul class="legend" data-testid="map-legend">
      {LEGEND.map((state) => {
        if (state === 'CONNECTED' && steps) return steps.map((word, n) => <Step key={word} n={n} word={word} />);
        const n = counts[CELL_STATES.indexOf(state)]!;
        if (state === 'UNHEARD' && n === 0) return null;
        return (
          <li key={state} data-state={state}>
            <Mark shape={shapeOf(state)} /> {wordOf(state)} <b>{count(n)}</b>
          </li>
        );
      })}
    </ul>
  );
}

const LOAD_STEPS = ['idle', 'up to half', 'above half', 'full'];

function ageSteps(): string[] {
  const beat = store.hello?.heartbeat_ms ?? 5000;
  return [`up to ${age(beat)}`, `up to ${age(2 * beat)}`, `up to ${age(store.hello?.late_ms ?? 12_500)}`, 'older'];
}

function Step({ n, word }: { n: number; word: string }) {
  repaint.value;
  return (
    <li>
      <i class="swatch" style={{ background: color(`heat${n}`) }} /> {word}
    </li>
  );
}
