// Layout of a job's dependency graph from left to right: each closure is to the right of its inputs.
//
// The longest path to a node determines its layer. Within a layer, nodes are ordered by the mean position of their neighbours, in
// a few sweeps back and forth. A layer of thousands of nodes, such as a map without dependencies, is folded into columns.

export interface Place {
  x: number; // in units of a node's pitch
  y: number;
  layer: number;
}
export interface GraphLayout {
  places: Place[];
  order: number[][]; // nodes of each layer, top to bottom
  columns: number; // width and height in pitches
  rows: number;
  before: number[][]; // inputs of a node
  after: number[][]; // dependents of a node
}

const SWEEPS = 4;
const LEAST_ROWS = 12;
const LAYER_GAP = 1; // columns between layers, for the edges

export function graphLayout(nodes: number, edges: readonly (readonly number[])[]): GraphLayout {
  const before: number[][] = Array.from({ length: nodes }, () => []);
  const after: number[][] = Array.from({ length: nodes }, () => []);
  for (const [from, to] of edges) {
    if (from === to || !after[from!] || !before[to!]) continue;
    after[from!]!.push(to!);
    before[to!]!.push(from!);
  }
  const layers = layersOf(before, after);
  const order: number[][] = [];
  for (let node = 0; node < nodes; ++node) (order[layers[node]!] ??= []).push(node);
  for (let n = 0; n < order.length; ++n) order[n] ??= []; // if there is a cycle, a layer can be empty
  const rank = new Float64Array(nodes);
  for (const layer of order) number(layer, rank);
  for (let sweep = 0; sweep < SWEEPS; ++sweep) {
    for (let n = 1; n < order.length; ++n) settle(order[n]!, before, rank);
    for (let n = order.length - 2; n >= 0; --n) settle(order[n]!, after, rank);
  }
  return { ...placed(nodes, order), order, before, after };
}

// Returns the length of the longest path to each node. Nodes on a cycle, which the server never produces, stay in the
// first layer.
function layersOf(before: number[][], after: number[][]): number[] {
  const layers = new Array<number>(before.length).fill(0);
  const missing = before.map((list) => list.length);
  const ready = missing.flatMap((n, node) => (n === 0 ? [node] : []));
  for (let at = 0; at < ready.length; ++at) {
    const node = ready[at]!;
    for (const next of after[node]!) {
      layers[next] = Math.max(layers[next]!, layers[node]! + 1);
      if (--missing[next]! === 0) ready.push(next);
    }
  }
  return layers.map((layer, node) => (missing[node]! > 0 ? 0 : layer));
}

// Ranks are fractions of the layer's height, so that layers of different sizes are comparable.
function number(layer: readonly number[], rank: Float64Array): void {
  for (const [n, node] of layer.entries()) rank[node] = (n + 0.5) / layer.length;
}

function settle(layer: number[], neighbours: readonly number[][], rank: Float64Array): void {
  const wish = new Map(
    layer.map((node) => {
      const list = neighbours[node]!;
      return [node, list.length === 0 ? rank[node]! : list.reduce((sum, other) => sum + rank[other]!, 0) / list.length];
    }),
  );
  layer.sort((a, b) => wish.get(a)! - wish.get(b)! || rank[a]! - rank[b]! || a - b);
  number(layer, rank);
}

function placed(nodes: number, order: readonly number[][]): Pick<GraphLayout, 'places' | 'columns' | 'rows'> {
  const tallest = order.reduce((most, layer) => Math.max(most, layer.length), 0);
  // A single layer is about twice as wide as high.
  const rows = Math.min(tallest, Math.max(LEAST_ROWS, Math.ceil(Math.sqrt(nodes / 2)) + 4));
  const places: Place[] = Array.from({ length: nodes });
  let left = 0;
  for (const [number, layer] of order.entries()) {
    const wide = Math.max(1, Math.ceil(layer.length / Math.max(1, rows)));
    const high = Math.ceil(layer.length / wide);
    const top = Math.floor((rows - high) / 2); // whole rows, because edges pass between rows
    for (const [n, node] of layer.entries()) places[node] = { x: left + (n % wide), y: top + Math.floor(n / wide), layer: number };
    left += wide + LAYER_GAP;
  }
  return { places, columns: Math.max(1, left - LAYER_GAP), rows: Math.max(1, rows) };
}

// Left and right select the nearest neighbour by dependency; up and down move within the column.
export function nodeBeside(graph: GraphLayout, at: number, key: string): number {
  const here = graph.places[at]!;
  const nearest = (list: readonly number[]) => list.reduce<number>((best, node) => (best < 0 || Math.abs(graph.places[node]!.y - here.y) < Math.abs(graph.places[best]!.y - here.y) ? node : best), -1);
  const inLayer = (step: number) => {
    const layer = graph.order[here.layer]!;
    const place = layer.indexOf(at) + step;
    return layer[Math.max(0, Math.min(layer.length - 1, place))]!;
  };
  switch (key) {
    case 'ArrowRight': {
      const next = nearest(graph.after[at]!);
      return next >= 0 ? next : at;
    }
    case 'ArrowLeft': {
      const next = nearest(graph.before[at]!);
      return next >= 0 ? next : at;
    }
    case 'ArrowDown':
      return inLayer(1);
    case 'ArrowUp':
      return inLayer(-1);
    default:
      return at;
  }
}

// Returns the node at a point in pitches, or -1.
export function nodeAt(graph: GraphLayout, x: number, y: number): number {
  return graph.places.findIndex((place) => Math.abs(place.x + 0.5 - x) < 0.5 && Math.abs(place.y + 0.5 - y) < 0.5);
}
