import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellAt, cellBeside, cellPlace, layout, type Layout } from '../src/now/model/map-layout';

const bounds = { width: 766, height: 340, scale: 1 };

function check(map: Layout, counts: number[]): void {
  assert.equal(map.blocks.length, counts.length);
  assert.ok(Number.isInteger(map.pitch) && map.cell >= 1 && map.cell < map.pitch);
  let bottom = 0;
  for (const [group, block] of map.blocks.entries()) {
    assert.equal(block.count, counts[group]);
    assert.ok(block.columns * map.pitch <= map.width || block.columns === 1);
    assert.ok(block.rows * block.columns >= block.count && (block.rows - 1) * block.columns < block.count);
    const beside = map.blocks[group - 1]?.labelTop === block.labelTop;
    assert.ok(block.top > block.labelTop && (beside ? block.left > map.blocks[group - 1]!.left : block.labelTop >= bottom), 'groups do not overlap');
    bottom = Math.max(bottom, block.top + block.rows * map.pitch);
    // The inverse mapping returns the corners of the group.
    for (const n of [0, block.count - 1, Math.floor(block.count / 2)]) {
      const { x, y } = cellPlace(map, { group, n });
      assert.ok(Number.isInteger(x) && Number.isInteger(y));
      assert.deepEqual(cellAt(map, x + 1, y + 1), { group, n });
    }
  }
  assert.ok(bottom <= map.height);
}

for (const counts of [[1], [7], [10_000], [10_001], [8192, 1536, 256, 16], [1, 1, 1]]) {
  for (const scale of [1, 1.5, 2]) {
    test(`${counts.join(' + ')} tasks at ${scale} pixels`, () => {
      const map = layout(counts, { width: Math.round(766 * scale), height: Math.round(340 * scale), scale });
      check(map, counts);
      assert.ok(map.height <= 340 * scale, 'fits');
    });
  }
}

test('few tasks have large cells, and more tasks never have larger ones', () => {
  assert.equal(layout([1], bounds).pitch, 40);
  let last = Infinity;
  for (let count = 1; count < 40_000; count = Math.ceil(count * 1.3)) {
    const { pitch } = layout([count], bounds);
    assert.ok(pitch <= last);
    last = pitch;
  }
});

test('the map grows if cells do not fit', () => {
  const map = layout([50_000], { width: 300, height: 200, scale: 1 });
  check(map, [50_000]);
  assert.equal(map.pitch, 3);
  assert.ok(map.height > 200);
});

test('small groups share a row, and arrow keys move between them', () => {
  const map = layout([5, 3, 6, 100], bounds);
  check(map, [5, 3, 6, 100]);
  assert.deepEqual(
    map.blocks.map((block) => block.labelTop > 0),
    [false, false, false, true],
  );
  assert.ok(layout([5, 3, 6], bounds).height < 80);
  const down = cellBeside(map, { group: 1, n: 2 }, 'ArrowDown');
  assert.equal(down.group, 3);
  assert.deepEqual(cellBeside(map, down, 'ArrowUp'), { group: 1, n: 2 });
});

test('an empty map has no blocks', () => {
  assert.equal(layout([], bounds).blocks.length, 0);
  check(layout([5], { width: 1, height: 10, scale: 1 }), [5]);
});

test('positions outside the cells have no cell', () => {
  const map = layout([7, 3], bounds);
  assert.equal(cellAt(map, -1, 30), null);
  assert.equal(cellAt(map, 5, 5), null, 'a headline');
  assert.equal(cellAt(map, 7 * map.pitch + 1, map.blocks[0]!.top + 1), null, 'past the last');
  assert.equal(cellAt(map, 5, 5000), null);
});

test('arrow keys reach every cell and stop at the ends', () => {
  const map = layout([1000, 30, 1], bounds);
  let at = { group: 0, n: 0 };
  let steps = 0;
  for (;;) {
    const next = cellBeside(map, at, 'ArrowRight');
    if (next === at) break;
    assert.deepEqual(cellBeside(map, next, 'ArrowLeft'), at);
    at = next;
    ++steps;
  }
  assert.equal(steps, 1030);
  const { x } = cellPlace(map, at);
  for (let n = 0; n < 200; ++n) at = cellBeside(map, at, 'ArrowUp');
  assert.equal(cellPlace(map, at).y, map.blocks[0]!.top);
  assert.ok(Math.abs(cellPlace(map, at).x - x) <= map.pitch);
  for (let n = 0; n < 200; ++n) at = cellBeside(map, at, 'ArrowDown');
  assert.deepEqual(at, { group: 2, n: 0 });
});
