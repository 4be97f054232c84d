// Draws all healthy cells as one path with one fill, so that ten thousand cells are cheap and inconspicuous. Cells with
// problems are larger, have strong colours, and are surrounded by a halo.

import { cellPlace, type CellRef, type Layout } from './model/map-layout';
import { agentState, CELL_STATES, type CellGroup } from '../shared/model/map-groups';
import type { AgentRow } from '../shared/model/protocol';
import { CONNECTED, type Tasks } from '../shared/model/tasks';
import { color } from '../shared/theme';

export type MapMode = 'state' | 'age' | 'load';

export interface Picture {
  map: Layout;
  groups: readonly CellGroup[];
  tasks: Tasks;
  mode: MapMode;
  now: number;
  heartbeatMs: number;
  lateMs: number;
  focus: CellRef | null;
  scale: number;
}

const LABEL_FROM = 24; // CSS pixels; a smaller cell has no room for its number
const GLYPH_FROM = 13; // device pixels; a smaller cell has no room for its shape

// Shades from weak to strong; the mode selects the shade of a healthy cell.
const SHADES: Record<MapMode, readonly string[]> = {
  state: ['ok-cell'],
  age: ['heat0', 'heat1', 'heat2', 'heat3'],
  load: ['heat0', 'heat1', 'heat2', 'heat3'],
};

function shade({ mode, tasks, now, heartbeatMs, lateMs }: Picture, slot: number, agent: AgentRow | undefined): number {
  switch (mode) {
    case 'state':
      return 0;
    case 'age': {
      const ms = agent ? now - agent.seen : tasks.heartbeatAge(slot, now).ms;
      return ms <= heartbeatMs ? 0 : ms <= 2 * heartbeatMs ? 1 : ms <= lateMs ? 2 : 3;
    }
    case 'load': {
      const load = agent ? 0 : tasks.loadAt(slot);
      return load === 0 ? 0 : load <= 0.5 ? 1 : load < 1 ? 2 : 3;
    }
  }
}

export function paint(pen: CanvasRenderingContext2D, picture: Picture): void {
  const { map, groups, tasks, focus, scale } = picture;
  pen.clearRect(0, 0, map.width, map.height);
  const paths = SHADES[picture.mode].map(() => new Path2D());
  const loud: Cell[] = [];
  const quiet: [label: string, x: number, y: number][] = [];
  const labelled = map.pitch >= LABEL_FROM * scale;

  for (const [group, { ids, agents }] of groups.entries()) {
    const block = map.blocks[group];
    if (!block) return; // the layout is one frame behind; another frame follows
    for (let n = 0; n < ids.length; ++n) {
      if (n >= block.count) break; // the layout is one frame behind
      const agent = agents?.[n];
      const slot = agent ? 0 : tasks.slot(ids[n]!);
      if (slot === undefined) continue;
      const { x, y } = cellPlace(map, { group, n });
      const state = agent ? agentState(agent) : tasks.stateAt(slot);
      const label = labelled ? String(agent ? agent.index : tasks.indexAt(slot)) : '';
      if (state !== CONNECTED) loud.push({ x, y, state, hollow: agent?.casualty === true, label });
      else {
        paths[shade(picture, slot, agent)]!.rect(x, y, map.cell, map.cell);
        if (label) quiet.push([label, x + map.cell / 2, y + map.cell / 2]);
      }
    }
  }
  paths.forEach((path, n) => {
    pen.fillStyle = color(SHADES[picture.mode][n]!);
    pen.fill(path);
  });
  pen.font = `${Math.round(11 * scale)}px Inter, system-ui, sans-serif`;
  pen.textAlign = 'center';
  pen.textBaseline = 'middle';
  pen.fillStyle = color('text');
  if (picture.mode === 'state') for (const [label, x, y] of quiet) pen.fillText(label, x, y, map.cell);
  // Cells with more severe states are drawn on top where halos overlap; unknown states are drawn below them.
  const rank = (cell: Cell) => (CELL_STATES[cell.state] === 'UNHEARD' ? -1 : cell.state);
  loud.sort((a, b) => rank(a) - rank(b));
  for (const cell of loud) problem(pen, map, cell);
  if (focus && map.blocks[focus.group]) {
    const { x, y } = cellPlace(map, focus);
    pen.strokeStyle = color('accent');
    pen.lineWidth = 3;
    pen.strokeRect(x - 3, y - 3, map.cell + 6, map.cell + 6);
  }
}

interface Cell {
  x: number;
  y: number;
  state: number;
  hollow: boolean; // whether another task caused the failure; the cell that caused it is filled
  label: string; // empty if there is no room
}

const FILLS: Partial<Record<string, string>> = { REGISTERING: 'restarting', UNHEARD: 'waiting' };

function problem(pen: CanvasRenderingContext2D, map: Layout, { x, y, state, hollow, label }: Cell): void {
  const size = Math.max(map.cell, Math.min(map.cell + 4, 9));
  const off = Math.round((size - map.cell) / 2);
  const left = Math.max(1, Math.min(x - off, map.width - size - 1));
  const top = y - off;
  const name = CELL_STATES[state]!;
  const ink = color(FILLS[name] ?? name.toLowerCase());
  const open = hollow || name === 'DISCONNECTED';

  pen.fillStyle = color('surface');
  pen.fillRect(left - 1, top - 1, size + 2, size + 2);
  pen.fillStyle = ink;
  pen.fillRect(left, top, size, size);
  const inner = Math.max(1, Math.round(size * 0.16));
  if (open) {
    pen.fillStyle = color('surface');
    pen.fillRect(left + inner, top + inner, size - 2 * inner, size - 2 * inner);
  }
  pen.strokeStyle = pen.fillStyle = open ? ink : color('surface');
  if (label) pen.fillText(label, left + size / 2, top + size * 0.76, size);
  if (size < GLYPH_FROM || name === 'DISCONNECTED' || name === 'UNHEARD') return;
  pen.lineWidth = Math.max(1.5, size * 0.1);
  const unit = (size / 12) * (label ? 0.75 : 1);
  const middle = top + size * (label ? 0.34 : 0.5); // the number is drawn below the shape
  const at = (px: number, py: number): [number, number] => [left + size / 2 + (px - 6) * unit, middle + (py - 6) * unit];
  pen.beginPath();
  if (name === 'ERROR') {
    pen.moveTo(...at(3.6, 3.6));
    pen.lineTo(...at(8.4, 8.4));
    pen.moveTo(...at(8.4, 3.6));
    pen.lineTo(...at(3.6, 8.4));
    pen.stroke();
  } else if (name === 'LATE') {
    pen.moveTo(...at(6, 3));
    pen.lineTo(...at(9.2, 8.6));
    pen.lineTo(...at(2.8, 8.6));
    pen.fill();
  } else {
    pen.arc(...at(6, 6), 2.6 * unit, 0.4, 5.6);
    pen.stroke();
  }
}
