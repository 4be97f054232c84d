import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphLayout, nodeAt, nodeBeside } from '../src/run/model/graph-layout';

test('each node is to the right of its dependencies', () => {
  const edges = [
    [0, 1],
    [1, 2],
    [0, 2],
    [3, 2],
    [2, 4],
  ];
  const { places } = graphLayout(5, edges);
  for (const [from, to] of edges) assert.ok(places[from!]!.x < places[to!]!.x);
  assert.equal(places[2]!.layer, 2);
});

test('no two nodes share a position', () => {
  for (const [nodes, edges] of [
    [2000, []],
    [2000, Array.from({ length: 1999 }, (_, n) => [n, n + 1])],
    [2000, Array.from({ length: 1999 }, (_, n) => [Math.floor(n / 2), n + 1])],
    [1, []],
    [0, []],
  ] as [number, number[][]][]) {
    const { places, columns, rows } = graphLayout(nodes, edges);
    assert.equal(new Set(places.map((p) => `${p.x},${p.y}`)).size, nodes);
    for (const { x, y } of places) assert.ok(x >= 0 && y >= 0 && x < columns && y < rows, `${x},${y} of ${columns},${rows}`);
  }
});

test('a layer of thousands is folded into columns', () => {
  const { columns, rows } = graphLayout(2000, []);
  assert.ok(rows < 80 && columns > 20 && columns < 120, `${columns} × ${rows}`);
});

test('two independent chains do not cross', () => {
  // The chains are 0→3→4 and 1→2→5. If nodes were placed in numerical order, the edges 3→4 and 2→5 would cross.
  const { places } = graphLayout(6, [
    [0, 3],
    [3, 4],
    [1, 2],
    [2, 5],
  ]);
  assert.equal(Math.sign(places[0]!.y - places[1]!.y), Math.sign(places[3]!.y - places[2]!.y));
  assert.equal(Math.sign(places[3]!.y - places[2]!.y), Math.sign(places[4]!.y - places[5]!.y));
});

test('cycles and dangling edges are tolerated', () => {
  assert.equal(
    graphLayout(3, [
      [0, 1],
      [1, 0],
      [2, 99],
      [2, 2],
    ]).places.length,
    3,
  );
});

test('arrow keys follow dependencies', () => {
  const graph = graphLayout(4, [
    [0, 1],
    [0, 2],
    [1, 3],
    [2, 3],
  ]);
  assert.equal(nodeBeside(graph, 3, 'ArrowRight'), 3);
  assert.equal(graph.places[nodeBeside(graph, 0, 'ArrowRight')]!.layer, 1);
  const upper = graph.order[1]![0]!;
  assert.equal(nodeBeside(graph, upper, 'ArrowDown'), graph.order[1]![1]);
  assert.equal(nodeBeside(graph, upper, 'ArrowUp'), upper);
  assert.equal(nodeBeside(graph, 3, 'ArrowLeft'), graph.before[3]![0]);
});

test('2,000 nodes with 20,000 edges take less than two seconds of a processor', () => {
  const edges = Array.from({ length: 20_000 }, (_, n) => [(n * 7919) % 1000, 1000 + ((n * 104_729) % 1000)]);
  const before = process.cpuUsage();
  graphLayout(2000, edges);
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 2_000_000, `${user + system} microseconds`);
});

test('a node is found by position', () => {
  const graph = graphLayout(2, [[0, 1]]);
  const { x, y } = graph.places[1]!;
  assert.equal(nodeAt(graph, x + 0.6, y + 0.4), 1);
  assert.equal(nodeAt(graph, x - 0.5, y + 0.5), -1);
});
