// Past and current work of each worker: all bars as parallel arrays, and the positions of each lane's bars.
//
// The lane of a worker with several slots has several rows. A bar takes the free row that was used most recently. This rule keeps
// the number of rows low, and keeps rows that have long been free for long bars. Bars arrive ordered by their end times, so only
// the last end time of each row is compared. An end time is measured when the message arrives, so bars of the same slot can
// overlap slightly. The number of rows still never exceeds the number of slots.

import { ROWS_MAX, FAILED, LOST, type StreamBody } from './stream-protocol';

export const SEVERAL = 'several functions';

export interface Running {
  start: number;
  function: number;
  closure: string;
  job: string;
  row: number;
}
export interface Minute {
  start: number;
  count: number;
  failed: number;
  busy: number; // ms
  function: number;
}
export interface Lane {
  number: number;
  task: string;
  cluster: string;
  bars: number[]; // indices into the columns
  most: number; // maximum number of rows: the worker's slots, plus one row for sums
  rows: number;
  rowEnds: number[];
  running: Running[];
  minutes: Minute[];
}

type Columns = ReturnType<typeof columns>;

function columns(capacity: number) {
  return {
    start: new Float64Array(capacity), // Unix ms
    end: new Float64Array(capacity),
    lane: new Uint32Array(capacity),
    function: new Uint16Array(capacity),
    state: new Uint8Array(capacity),
    row: new Uint8Array(capacity),
    count: new Uint32Array(capacity), // above 1 for a sum of short closures
    failed: new Uint32Array(capacity), // also counted in `count`; includes lost closures
    busy: new Float32Array(capacity), // ms
  };
}

export class Stream {
  static readonly capacity = 120_000; // maximum number of bars; at the limit, the oldest bars are removed
  size = 0;
  version = 0;
  epoch = 0; // positions of bars are valid only in one epoch
  since = 0; // all bars after this time are known
  now = 0; // server time of the newest response
  next = 0; // sequence number that follows the newest bar
  lanes: Lane[] = []; // sorted by cluster, job and index
  readonly functions: string[] = [];
  at: Columns = columns(1024);
  closures: string[] = [];
  jobs: string[] = [];

  private byKey = new Map<string, Lane>();
  private laneList: Lane[] = []; // indexed by number
  private functionNumbers = new Map<string, number>();

  laneOf(bar: number): Lane {
    return this.laneList[this.at.lane[bar]!]!;
  }

  // `fresh` means that the request had no ?after=, so that the response replaces all data.
  apply(body: StreamBody, fresh: boolean): void {
    if (fresh) this.clear();
    const lanes = new Map(body.lanes.map(({ lane, task, cluster, slots }) => [lane, this.lane(cluster, task, slots)]));
    if (this.lanes.length !== this.laneList.length) this.lanes = [...this.laneList].sort(byPlace);
    const functions = body.functions.map((name) => this.functionNumber(name));
    const numberOf = (at: number): number => functions[at] ?? this.functionNumber(SEVERAL);
    const { bars, minutes, base_ms } = body;
    for (let n = 0; n < bars.lane.length; ++n) {
      const lane = lanes.get(bars.lane[n]!);
      if (lane === undefined) continue;
      const start = base_ms + bars.start_us[n]! / 1000;
      const bar = this.append(
        lane,
        start,
        start + bars.duration_us[n]! / 1000,
        numberOf(bars.function[n]!),
        bars.state[n]!,
        bars.count[n]!,
        bars.closure[n] ?? '',
        body.jobs?.[bars.job?.[n] ?? -1] ?? '',
      );
      const bad = bars.state[n] === FAILED || bars.state[n] === LOST;
      this.at.failed[bar] = bars.failed?.[n] ?? (bad ? bars.count[n]! : 0);
      this.at.busy[bar] = (bars.busy_us?.[n] ?? bars.duration_us[n]!) / 1000;
    }
    this.takeRunning(body);
    for (let n = 0; n < (minutes?.lane.length ?? 0); ++n) {
      const number = lanes.get(minutes!.lane[n]!);
      if (number === undefined) continue;
      const { start_ms, count, failed, busy_ms, function: of } = minutes!;
      this.laneList[number]!.minutes.push({ start: start_ms[n]!, count: count[n]!, failed: failed[n]!, busy: busy_ms[n]!, function: numberOf(of[n]!) });
    }
    this.since = body.since_ms;
    this.now = body.now_ms;
    this.next = body.next;
    if (this.size > Stream.capacity) this.forgetOldest();
    ++this.version;
  }

  // Adds running closures that began in a past range, because the response for a past range does not contain them.
  takeRunning(body: StreamBody): void {
    const { running, base_ms } = body;
    const lanes = new Map(body.lanes.map((each) => [each.lane, each]));
    for (const lane of this.laneList) lane.running = [];
    for (let n = 0; n < running.lane.length; ++n) {
      const named = lanes.get(running.lane[n]!);
      if (named === undefined) continue;
      const lane = this.laneList[this.lane(named.cluster, named.task, named.slots)]!;
      const start = base_ms + running.start_us[n]! / 1000;
      const row = freeRow(lane, start, start, new Set(lane.running.map((r) => r.row)));
      const name = body.functions[running.function[n]!] ?? SEVERAL;
      lane.running.push({ start, function: this.functionNumber(name), closure: running.closure[n] ?? '', job: body.jobs?.[running.job?.[n] ?? -1] ?? '', row });
    }
    if (this.lanes.length !== this.laneList.length) this.lanes = [...this.laneList].sort(byPlace);
    this.now = body.now_ms;
    ++this.version;
  }

  clear(): void {
    this.size = 0;
    ++this.epoch;
    this.closures = [];
    this.jobs = [];
    this.byKey.clear();
    this.laneList = [];
    this.lanes = [];
    ++this.version;
  }

  private lane(cluster: string, task: string, slots: number): number {
    const key = `${cluster}/${task}`;
    let lane = this.byKey.get(key);
    if (!lane) {
      lane = { number: this.laneList.length, task, cluster, bars: [], most: 0, rows: 1, rowEnds: [-Infinity], running: [], minutes: [] };
      this.byKey.set(key, lane);
      this.laneList.push(lane);
    }
    lane.most = Math.max(lane.most, slots);
    return lane.number;
  }

  private functionNumber(name: string): number {
    let number = this.functionNumbers.get(name);
    if (number === undefined) {
      number = this.functions.push(name) - 1;
      this.functionNumbers.set(name, number);
    }
    return number;
  }

  private append(lane: number, start: number, end: number, of: number, state: number, count: number, closure: string, job: string): number {
    if (this.size === this.at.start.length) this.at = grown(this.at, this.size * 2);
    const { at } = this;
    const bar = this.size++;
    const mine = this.laneList[lane]!;
    at.start[bar] = start;
    at.end[bar] = end;
    at.lane[bar] = lane;
    at.function[bar] = of;
    at.state[bar] = state;
    at.count[bar] = count;
    this.closures[bar] = closure;
    this.jobs[bar] = job;
    if (count > 1 && mine.rows >= mine.most) ++mine.most; // sums are shown next to longer bars
    const row = freeRow(mine, start, end);
    at.row[bar] = row;
    mine.rowEnds[row] = Math.max(mine.rowEnds[row]!, end);
    mine.bars.push(bar);
    return bar;
  }

  // Removes a fifth of the bars, so that removals are rare.
  private forgetOldest(): void {
    const first = this.size - Math.floor(Stream.capacity * 0.8);
    for (const column of Object.values(this.at)) column.copyWithin(0, first, this.size);
    ++this.epoch;
    this.closures = this.closures.slice(first);
    this.jobs = this.jobs.slice(first);
    this.size -= first;
    for (const lane of this.laneList) lane.bars = lane.bars.filter((bar) => bar >= first).map((bar) => bar - first);
    this.since = Math.max(this.since, this.at.end[0] ?? 0);
  }
}

function freeRow(lane: Lane, start: number, end: number, taken?: ReadonlySet<number>): number {
  const slack = Math.max(0.5, (end - start) / 10); // ms
  const ends = lane.rowEnds;
  let best = -1;
  let oldest = -1;
  for (let row = 0; row < lane.rows; ++row) {
    if (taken?.has(row)) continue;
    if (ends[row]! <= start + slack && (best < 0 || ends[row]! > ends[best]!)) best = row;
    if (oldest < 0 || ends[row]! < ends[oldest]!) oldest = row;
  }
  if (best >= 0) return best;
  if (lane.rows < Math.min(lane.most, ROWS_MAX)) {
    ends.push(-Infinity);
    return lane.rows++;
  }
  return oldest >= 0 && lane.most <= ROWS_MAX ? oldest : lane.rows - 1;
}

function grown(old: Columns, capacity: number): Columns {
  const next = columns(capacity);
  for (const key of Object.keys(old) as (keyof Columns)[]) next[key].set(old[key]);
  return next;
}

function byPlace(a: Lane, b: Lane): number {
  if (a.cluster !== b.cluster) return a.cluster < b.cluster ? -1 : 1;
  const [aJob, aIndex] = apart(a.task);
  const [bJob, bIndex] = apart(b.task);
  return aJob < bJob ? -1 : aJob > bJob ? 1 : aIndex - bIndex;
}

function apart(task: string): [string, number] {
  const at = task.lastIndexOf(':');
  return at < 0 ? [task, 0] : [task.slice(0, at), Number(task.slice(at + 1))];
}
