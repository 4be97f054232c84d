// All tasks as parallel arrays, so that 10,000 rows need a dozen arrays instead of 10,000 objects.
//
// Rows are in slots 0…size-1 without gaps, in no particular order; the last row overwrites a removed row. Code that
// refers to rows across messages must store row IDs, which are stable within a server process, not slots.

import { TASK_STATES, type TaskRows, type TaskState } from './protocol';

export const CONNECTED = TASK_STATES.indexOf('CONNECTED');
// State shown for unknown states. REGISTERING is marked, but raises no alarm.
const UNKNOWN = TASK_STATES.indexOf('REGISTERING');
const stateNumbers = new Map<string, number>(TASK_STATES.map((name, at) => [name, at]));

// The row of a healthy task is sent again only when its heartbeat age crosses one of these limits, in heartbeat
// intervals.
const AGE_BUCKETS = [1, 2.5, 10];

type Columns = ReturnType<typeof columns>;

function columns(capacity: number) {
  return {
    id: new Float64Array(capacity),
    cluster: new Array<string>(capacity).fill(''),
    job: new Uint32Array(capacity),
    index: new Float64Array(capacity),
    state: new Uint8Array(capacity),
    seen: new Float64Array(capacity),
    bound: new Float64Array(capacity),
    since: new Float64Array(capacity),
    slots: new Float64Array(capacity),
    running: new Float64Array(capacity),
    finished: new Float64Array(capacity),
    failed: new Float64Array(capacity),
    cordoned: new Uint8Array(capacity),
    incarnation: new Array<string>(capacity).fill(''),
    host: new Array<string>(capacity).fill(''),
    error: new Array<string>(capacity).fill(''),
  };
}

export interface TaskView {
  id: number;
  cluster: string; // empty for the main cluster
  name: string;
  job: string;
  index: number;
  state: TaskState;
  seen: number;
  since: number;
  incarnation: string;
  host: string;
  slots: number;
  running: number;
  finished: number;
  failed: number; // also included in `finished`
  cordoned: boolean;
  error: string;
}

export class Tasks {
  size = 0;
  version = 0; // number of changes so far
  stateVersion = 0; // incremented when a state or the rows change
  rowsVersion = 0; // incremented when rows are added, removed or renamed
  jobNames: string[] = []; // each name includes the cluster, except for the main cluster
  readonly counts = new Array<number>(TASK_STATES.length).fill(0);
  readonly problems = new Set<number>(); // IDs of rows that are not CONNECTED

  private at: Columns = columns(64);
  private slotOf = new Map<number, number>();
  private jobNumbers = new Map<string, number>();

  clear(): void {
    this.size = 0;
    this.slotOf.clear();
    this.problems.clear();
    this.counts.fill(0);
    this.touchRows();
  }

  apply(rows: TaskRows, gone: readonly number[], now: number, heartbeatMs: number): void {
    for (const id of gone) this.remove(id);
    for (let n = 0; n < rows.i.length; ++n) this.put(rows, n, now, heartbeatMs);
    if (rows.i.length > 0 || gone.length > 0) ++this.version;
  }

  slot(id: number): number | undefined {
    return this.slotOf.get(id);
  }
  idAt(slot: number): number {
    return this.at.id[slot]!;
  }
  stateAt(slot: number): number {
    return this.at.state[slot]!;
  }
  jobAt(slot: number): number {
    return this.at.job[slot]!;
  }
  indexAt(slot: number): number {
    return this.at.index[slot]!;
  }
  sinceAt(slot: number): number {
    return this.at.since[slot]!;
  }
  clusterAt(slot: number): string {
    return this.at.cluster[slot]!;
  }
  hostAt(slot: number): string {
    return this.at.host[slot]!;
  }
  errorAt(slot: number): string {
    return this.at.error[slot]!;
  }
  cordonedAt(slot: number): boolean {
    return this.at.cordoned[slot] === 1;
  }
  incarnationAt(slot: number): string {
    return this.at.incarnation[slot]!;
  }
  // Returns the number of slots of all connected workers.
  slotsConnected(): number {
    let sum = 0;
    for (let slot = 0; slot < this.size; ++slot) if (this.stateAt(slot) === CONNECTED) sum += this.at.slots[slot]!;
    return sum;
  }

  loadAt(slot: number): number {
    const slots = this.at.slots[slot]!;
    return slots > 0 ? Math.min(1, this.at.running[slot]! / slots) : 0;
  }
  nameAt(slot: number): string {
    return `${this.jobNames[this.at.job[slot]!]}:${this.at.index[slot]}`;
  }

  // Returns the age of the last heartbeat. For a healthy row without exact updates, later heartbeats are unknown. The
  // server sends the row when the age crosses a limit, so the age stays below that limit.
  heartbeatAge(slot: number, now: number): { ms: number; exact: boolean } {
    const ms = now - this.at.seen[slot]!;
    const bound = this.at.bound[slot]!;
    return ms > bound ? { ms: bound, exact: false } : { ms: Math.max(0, ms), exact: true };
  }

  view(id: number): TaskView | undefined {
    const slot = this.slotOf.get(id);
    if (slot === undefined) return undefined;
    const { at } = this;
    return {
      id,
      cluster: at.cluster[slot]!,
      name: this.nameAt(slot),
      job: this.jobNames[at.job[slot]!]!,
      index: at.index[slot]!,
      state: TASK_STATES[at.state[slot]!]!,
      seen: at.seen[slot]!,
      since: at.since[slot]!,
      incarnation: at.incarnation[slot]!,
      host: at.host[slot]!,
      slots: at.slots[slot]!,
      running: at.running[slot]!,
      finished: at.finished[slot]!,
      failed: at.failed[slot]!,
      cordoned: this.cordonedAt(slot),
      error: at.error[slot]!,
    };
  }

  private put(rows: TaskRows, n: number, now: number, heartbeatMs: number): void {
    const id = rows.i[n]!;
    const cluster = rows.cluster?.[n] ?? '';
    const job = this.jobNumber(cluster ? `${cluster}/${rows.job[n]!}` : rows.job[n]!);
    const index = rows.index[n]!;
    const state = stateNumbers.get(rows.state[n]!) ?? UNKNOWN;
    const known = this.slotOf.get(id);
    const slot = known ?? this.append(id);
    const { at } = this;

    if (known === undefined || at.job[slot] !== job || at.index[slot] !== index) this.touchRows();
    if (known !== undefined) --this.counts[at.state[slot]!]!;
    if (known === undefined || at.state[slot] !== state) ++this.stateVersion;
    ++this.counts[state]!;
    if (state === CONNECTED) this.problems.delete(id);
    else this.problems.add(id);

    at.id[slot] = id;
    at.cluster[slot] = cluster;
    at.job[slot] = job;
    at.index[slot] = index;
    at.state[slot] = state;
    at.seen[slot] = rows.seen[n]!;
    at.since[slot] = rows.since[n]!;
    at.slots[slot] = rows.slots[n]!;
    at.running[slot] = rows.running[n]!;
    at.finished[slot] = rows.finished[n]!;
    at.failed[slot] = rows.failed?.[n] ?? 0;
    at.cordoned[slot] = rows.cordoned?.[n] ?? 0;
    at.incarnation[slot] = rows.incarnation[n]!;
    at.host[slot] = rows.host[n]!;
    at.error[slot] = rows.error[n]!;
    at.bound[slot] = state === CONNECTED ? ageBound(now - rows.seen[n]!, heartbeatMs) : Infinity;
  }

  private append(id: number): number {
    const slot = this.size++;
    if (slot === this.at.id.length) this.grow();
    this.slotOf.set(id, slot);
    return slot;
  }

  private grow(): void {
    const old = this.at;
    const next = columns(old.id.length * 2);
    for (const key of Object.keys(old) as (keyof Columns)[]) {
      const from = old[key];
      const to = next[key];
      for (let slot = 0; slot < from.length; ++slot) to[slot] = from[slot]!;
    }
    this.at = next;
  }

  private remove(id: number): void {
    const slot = this.slotOf.get(id);
    if (slot === undefined) return;
    const last = --this.size;
    --this.counts[this.at.state[slot]!]!;
    this.problems.delete(id);
    this.slotOf.delete(id);
    if (slot !== last) {
      for (const key of Object.keys(this.at) as (keyof Columns)[]) {
        const column = this.at[key];
        column[slot] = column[last]!;
      }
      this.slotOf.set(this.at.id[slot]!, slot);
    }
    this.touchRows();
  }

  private touchRows(): void {
    ++this.version;
    ++this.stateVersion;
    ++this.rowsVersion;
  }

  private jobNumber(name: string): number {
    let number = this.jobNumbers.get(name);
    if (number === undefined) {
      number = this.jobNames.push(name) - 1;
      this.jobNumbers.set(name, number);
    }
    return number;
  }
}

function ageBound(age: number, heartbeatMs: number): number {
  for (const intervals of AGE_BUCKETS) if (age <= intervals * heartbeatMs) return intervals * heartbeatMs;
  return Infinity;
}
