// Positions are in whole device pixels, because fractional positions would cause moiré patterns.

interface Block {
  left: number;
  top: number; // top of the first row of cells
  labelTop: number;
  labelWidth: number;
  count: number;
  rows: number;
  columns: number;
}

export interface Layout {
  pitch: number;
  cell: number; // size of a healthy cell
  width: number;
  height: number;
  blocks: Block[];
}

interface Bounds {
  width: number;
  height: number; // the cells shrink to fit, but not below minPitch; beyond that, the map grows
  scale: number; // device pixels per CSS pixel
}

const MAX_PITCH = 40;
const MIN_PITCH = 3;
const LABEL = 20; // CSS pixels of a group's title
const GAP = 8; // gap below a group's cells
const LEAST = 190; // minimum width, which keeps the title readable next to another group
const BESIDE = 24; // gap between two groups side by side

function heightAt(pitch: number, counts: readonly number[], { width, scale }: Bounds): number {
  const columns = Math.max(1, Math.floor(width / pitch));
  const furniture = Math.round(LABEL * scale) + Math.round(GAP * scale);
  return counts.reduce((sum, count) => sum + furniture + Math.ceil(count / columns) * pitch, 0);
}

// Finds the largest cells with which all groups fit. Groups with one row are placed side by side if possible.
export function layout(counts: readonly number[], bounds: Bounds): Layout {
  const { width, height, scale } = bounds;
  const least = Math.max(2, Math.round(MIN_PITCH * scale));
  let pitch = Math.max(least, Math.min(Math.round(MAX_PITCH * scale), width));
  while (pitch > least && heightAt(pitch, counts, bounds) > height) --pitch;

  const most = Math.max(1, Math.floor(width / pitch));
  const blocks: Block[] = [];
  let top = 0; // top of the next groups
  let left = width; // end of the current line; `width` means that it is full
  let line = 0; // top of the current line of groups
  for (const count of counts) {
    const rows = Math.ceil(count / most);
    const wide = rows === 1 ? Math.max(count * pitch, Math.round(LEAST * scale)) : width;
    if (left + wide > width || rows > 1) {
      left = 0;
      line = top;
    }
    const cells = line + Math.round(LABEL * scale);
    blocks.push({ left, labelTop: line, labelWidth: Math.min(wide, width - left), top: cells, count, rows, columns: most });
    left = rows === 1 ? left + wide + Math.round(BESIDE * scale) : width;
    top = Math.max(top, cells + rows * pitch + Math.round(GAP * scale));
  }
  const gap = Math.max(1, Math.round(pitch * 0.16));
  return { pitch, cell: Math.max(1, pitch - gap), width, height: top, blocks };
}

export interface CellRef {
  group: number;
  n: number;
}

export function cellAt(map: Layout, x: number, y: number): CellRef | null {
  for (const [group, block] of map.blocks.entries()) {
    const column = Math.floor((x - block.left) / map.pitch);
    const row = Math.floor((y - block.top) / map.pitch);
    const n = row * block.columns + column;
    if (column >= 0 && column < block.columns && row >= 0 && row < block.rows && n < block.count) return { group, n };
  }
  return null;
}

export function cellPlace(map: Layout, { group, n }: CellRef): { x: number; y: number } {
  const block = map.blocks[group]!;
  return { x: block.left + (n % block.columns) * map.pitch, y: block.top + Math.floor(n / block.columns) * map.pitch };
}

// Returns the horizontally nearest cell in another line of groups.
function across(map: Layout, labelTop: number, x: number, last: boolean): CellRef {
  let best: CellRef = { group: -1, n: 0 };
  let away = Infinity;
  for (const [group, block] of map.blocks.entries()) {
    if (block.labelTop !== labelTop) continue;
    const from = last ? (block.rows - 1) * block.columns : 0;
    const most = Math.min(block.columns, block.count - from) - 1;
    const column = Math.max(0, Math.min(most, Math.round((x - block.left) / map.pitch)));
    const distance = Math.abs(block.left + column * map.pitch - x);
    if (distance < away) [best, away] = [{ group, n: from + column }, distance];
  }
  return best;
}

// Left and right move through all groups; up and down move by rows, and into the groups above and below.
export function cellBeside(map: Layout, at: CellRef, key: string): CellRef {
  const { group, n } = at;
  const block = map.blocks[group]!;
  const { x } = cellPlace(map, at);
  switch (key) {
    case 'ArrowRight':
      if (n + 1 < block.count) return { group, n: n + 1 };
      return group + 1 < map.blocks.length ? { group: group + 1, n: 0 } : at;
    case 'ArrowLeft':
      if (n > 0) return { group, n: n - 1 };
      return group > 0 ? { group: group - 1, n: map.blocks[group - 1]!.count - 1 } : at;
    case 'ArrowDown': {
      if (Math.floor(n / block.columns) + 1 < block.rows) return { group, n: Math.min(n + block.columns, block.count - 1) };
      const below = map.blocks.find((other) => other.labelTop > block.labelTop);
      return below ? across(map, below.labelTop, x, false) : at;
    }
    case 'ArrowUp': {
      if (n >= block.columns) return { group, n: n - block.columns };
      const above = map.blocks.findLast((other) => other.labelTop < block.labelTop);
      return above ? across(map, above.labelTop, x, true) : at;
    }
    default:
      return at;
  }
}
