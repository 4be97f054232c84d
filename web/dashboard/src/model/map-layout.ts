// Where each cell of the cluster map is. Pure arithmetic in device pixels: fractional positions would draw moiré.

export interface Block {
  top: number; // of the first row of cells
  labelTop: number;
  count: number;
  rows: number;
}

export interface Layout {
  pitch: number; // distance of two cells
  cell: number; // size of a healthy cell
  columns: number;
  width: number;
  height: number;
  blocks: Block[];
}

export interface Bounds {
  width: number;
  height: number; // the cells shrink to stay inside, down to minPitch; then the map grows
  scale: number; // device pixels per CSS pixel
}

const MAX_PITCH = 40;
const MIN_PITCH = 3;
const LABEL = 20; // CSS pixels of a group's headline
const GAP = 8; // and below its cells

function heightAt(pitch: number, counts: readonly number[], { width, scale }: Bounds): number {
  const columns = Math.max(1, Math.floor(width / pitch));
  const furniture = Math.round(LABEL * scale) + Math.round(GAP * scale);
  return counts.reduce((sum, count) => sum + furniture + Math.ceil(count / columns) * pitch, 0);
}

// The largest cells with which all groups fit.
export function layout(counts: readonly number[], bounds: Bounds): Layout {
  const { width, height, scale } = bounds;
  const least = Math.max(2, Math.round(MIN_PITCH * scale));
  let pitch = Math.max(least, Math.min(Math.round(MAX_PITCH * scale), width));
  while (pitch > least && heightAt(pitch, counts, bounds) > height) --pitch;

  const columns = Math.max(1, Math.floor(width / pitch));
  const blocks: Block[] = [];
  let top = 0;
  for (const count of counts) {
    const rows = Math.ceil(count / columns);
    const cells = top + Math.round(LABEL * scale);
    blocks.push({ labelTop: top, top: cells, count, rows });
    top = cells + rows * pitch + Math.round(GAP * scale);
  }
  const gap = Math.max(1, Math.round(pitch * 0.16));
  return { pitch, cell: Math.max(1, pitch - gap), columns, width, height: top, blocks };
}

export interface CellRef {
  group: number;
  n: number;
}

export function cellAt(map: Layout, x: number, y: number): CellRef | null {
  const column = Math.floor(x / map.pitch);
  if (column < 0 || column >= map.columns) return null;
  for (const [group, block] of map.blocks.entries()) {
    const row = Math.floor((y - block.top) / map.pitch);
    const n = row * map.columns + column;
    if (row >= 0 && row < block.rows && n < block.count) return { group, n };
  }
  return null;
}

export function cellPlace(map: Layout, { group, n }: CellRef): { x: number; y: number } {
  return {
    x: (n % map.columns) * map.pitch,
    y: map.blocks[group]!.top + Math.floor(n / map.columns) * map.pitch,
  };
}

// Arrow keys: sideways through all groups, up and down by rows and into the neighbouring group.
export function cellBeside(map: Layout, at: CellRef, key: string): CellRef {
  const { group, n } = at;
  const block = map.blocks[group]!;
  switch (key) {
    case 'ArrowRight':
      if (n + 1 < block.count) return { group, n: n + 1 };
      return group + 1 < map.blocks.length ? { group: group + 1, n: 0 } : at;
    case 'ArrowLeft':
      if (n > 0) return { group, n: n - 1 };
      return group > 0 ? { group: group - 1, n: map.blocks[group - 1]!.count - 1 } : at;
    case 'ArrowDown': {
      if (Math.floor(n / map.columns) + 1 < block.rows) return { group, n: Math.min(n + map.columns, block.count - 1) };
      const below = map.blocks[group + 1];
      return below ? { group: group + 1, n: Math.min(n % map.columns, below.count - 1) } : at;
    }
    case 'ArrowUp': {
      if (n >= map.columns) return { group, n: n - map.columns };
      const above = map.blocks[group - 1];
      if (!above) return at;
      return { group: group - 1, n: Math.min((above.rows - 1) * map.columns + (n % map.columns), above.count - 1) };
    }
    default:
      return at;
  }
}
