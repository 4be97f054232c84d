// The state of the page: what the user chose, and the signals by which components learn that the store changed.
//
// The store is plain data. Components read a signal (`slow` or `fast`) and then the store, so 10,000 rows cost no signal:
//   slow  twice a second, for digits: faster than that nobody can read them
//   fast  once per animation frame at most, when the state of a task changed: canvas and rows turn red at once
// A hidden page gets neither, but a tick of `slow` when its alerts change: the tab's title and icon tell of them.

import { readSession, session } from './access/session';
import { computed, effect, signal } from '@preact/signals';
import { mayLog } from './model/log-protocol';
import { mayBeProgram } from './model/program-protocol';
import { listOrder, mapGroups, type MapGroup } from './model/order';
import type { ClusterRow, Topic } from './model/protocol';
import { choose, chosen, page, picked, startRouting, subject } from './route';
import { Socket, type Link, type Wire } from './socket';
import { Store } from './model/store';

const SLOW_MS = 500;
const SORT_MS = 1000;
const HIDDEN_MS = 30_000; // how long a hidden tab goes on listening to everything

export const store = new Store();

export const slow = signal(0);
export const fast = signal(0);
export const link = signal<Link>('connecting');
export const paused = signal(false);
export const query = chosen('q'); // what is looked for on this page
export const rebooted = signal(false); // until the user has read it
export const shortcuts = signal(localStorage.getItem('muster.shortcuts') !== 'off');
export const helpOpen = signal(false);
export const paletteOpen = signal(false);
export const order = signal<Float64Array>(new Float64Array(0)); // the task list
export const groups = signal<MapGroup[]>([]); // the cluster map

export const frozen = computed(() => paused.value || link.value !== 'live');

const socket = new Socket(
  store,
  {
    open: (subprotocol) => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/api/v1/ws`, subprotocol) as Wire,
    now: () => performance.now(),
    after: (ms, call) => {
      const timer = setTimeout(call, ms);
      return () => clearTimeout(timer);
    },
    random: Math.random,
  },
  {
    changed: requestFrame,
    link: (next) => {
      link.value = next;
      requestFrame();
    },
    rebooted: () => (rebooted.value = true),
  },
);

// How old the picture is.
export function dataAge(): number {
  return performance.now() - socket.lastHeard;
}

// The server's clock stands: it shows the data of a stopped server.
export const stands = computed(() => session.value?.read_only ?? false);

// The server's clock now; while the picture stands still, so does its clock, or healthy heartbeats would seem to age.
export function viewNow(): number {
  return frozen.value || stands.value ? store.serverNow : store.serverNow + Math.max(0, dataAge());
}

export function setPaused(next: boolean): void {
  if (next && store.tasks.stateVersion !== sortedState) sort(); // or the held list would move once more
  paused.value = next;
  socket.freeze(next);
}

// What fits begins at its first page.
export const setQuery = (next: string): void => choose({ q: next, page: '', at: '' }, 'replace');

export function setShortcuts(on: boolean): void {
  shortcuts.value = on;
  localStorage.setItem('muster.shortcuts', on ? 'on' : 'off');
}

export const retryNow = (): void => socket.connect();
export const watchRows = (ids: readonly number[]): void => socket.watchRows(ids);

let frame = 0;
let filled = false;
let drawnState = -1;
let drawnRows = -1;
let drawnAt = -Infinity;
let sortedState = -1;
let sortedAt = -Infinity;
let sortedSize = 0;
let sortedOf: string | undefined;
let groupedRows = -1;

// What was, by time, can be asked for. Not before the first numbers are there.
export const keepsHistory = (): boolean => store.counters?.durable?.history_bytes !== undefined;

function requestFrame(): void {
  if (frame === 0 && !document.hidden) frame = requestAnimationFrame(onFrame);
}

function onFrame(): void {
  frame = 0;
  const { tasks } = store;
  const fill = store.clusters.version + store.agents.version + store.barriers.version + store.events.version + store.attention.version + store.programs.version + store.watchedVersion;
  if ((!filled && store.counters) || (fill !== drawnRows && performance.now() - drawnAt > SLOW_MS / 4)) {
    filled = true; // the first picture does not wait for the next half second
    drawnRows = fill;
    drawnAt = performance.now();
    ++slow.value;
  }
  if (tasks.stateVersion === drawnState) return;
  drawnState = tasks.stateVersion;
  if (tasks.rowsVersion !== groupedRows) {
    groupedRows = tasks.rowsVersion;
    groups.value = mapGroups(tasks);
  }
  sortIfDue();
  ++fast.value;
}

// The overview lists the workers of all clusters, the page of tasks those of the cluster that is looked at.
function ofCluster(): string | undefined {
  const of = cluster();
  return page.value.path === '/tasks' && of ? poolOf(of) : undefined;
}

// Rows that jump about cannot be read, and sorting is the dearest step: once a second is enough.
function sortIfDue(): void {
  const stale = store.tasks.stateVersion !== sortedState || ofCluster() !== sortedOf;
  const first = sortedSize === 0 && store.tasks.size > 0; // these do not wait
  if (stale && (first || performance.now() - sortedAt >= SORT_MS)) sort();
}

function sort(): void {
  sortedState = store.tasks.stateVersion;
  sortedAt = performance.now();
  sortedSize = store.tasks.size;
  sortedOf = ofCluster();
  order.value = listOrder(store.tasks, query.value, sortedOf);
}

function onSlow(): void {
  if (document.hidden) return;
  sortIfDue();
  ++slow.value;
}

function onVisibility(hidden: boolean): void {
  want(hidden ? ['counters', 'attention'] : topics()); // the tab's title and icon tell of alerts
  if (!hidden) {
    socket.connect();
    requestFrame();
    onSlow();
  }
}

// What the page shows, with the log or the program that is looked at.
function topics(): readonly Topic[] {
  const { path, topics } = page.value;
  const of = path === '/jobs/*' || path === '/closures/*' ? subject.value : '';
  // Ctrl-K finds workers and agents from any page.
  const all: readonly Topic[] = paletteOpen.value ? [...new Set<Topic>([...topics, 'tasks', 'agents', 'jobs'])] : topics;
  if (path === '/programs/*' && mayBeProgram(subject.value)) return [...all, `program:${subject.value}`];
  return mayLog(of) ? [...all, `logs:${of}`] : all;
}

function want(topics: readonly Topic[]): void {
  store.keepWatched(topics);
  socket.want(topics);
}

// The cluster that is looked at: the one in the address, else the main port's.
export function cluster(): ClusterRow | undefined {
  const all = store.clusters.all();
  if (picked.value) return all.find((row) => row.name === picked.value);
  return all.find((row) => row.main) ?? all[0];
}

// The address names one that there is not. Not known before the clusters are.
export const unknownCluster = computed(() => {
  slow.value;
  return picked.value !== '' && store.clusters.all().length > 0 && !cluster();
});

// As REST wants it: the name of the cluster, empty for the main one. Before the clusters are known it is one that the
// token is bound to.
export const clusterQuery = computed(() => {
  slow.value;
  const of = cluster();
  if (of) return of.main ? '' : of.name;
  return picked.value || session.value?.clusters?.[0] || '';
});

// The chosen task, as the id of its row. The address has its name; names of other clusters' workers are not told apart.
export const selected = {
  get value(): number | null {
    void [fast.value, picked.value];
    return rowNamed(chosen('task').value);
  },
  set value(id: number | null) {
    const slot = id === null ? undefined : store.tasks.slot(id);
    choose({ task: slot === undefined ? '' : store.tasks.nameAt(slot) }, 'replace');
  },
};

let named = { of: '', rows: -1, id: null as number | null };
function rowNamed(name: string): number | null {
  const { tasks } = store;
  const of = cluster();
  const pool = of ? poolOf(of) : '';
  const key = `${pool} ${name}`;
  if (named.of === key && named.rows === tasks.rowsVersion) return named.id;
  let id: number | null = null;
  if (name) for (let slot = 0; slot < tasks.size && id === null; ++slot) if (tasks.nameAt(slot) === name && (tasks.clusterAt(slot) === pool || page.peek().path === '/')) id = tasks.idAt(slot);
  named = { of: key, rows: tasks.rowsVersion, id };
  return id;
}

// How rows name it: the main one has no name there.
export function poolOf(of: ClusterRow): string {
  return of.main ? '' : of.name;
}

export function start(): void {
  startRouting();
  effect(() => want(topics()));
  effect(() => {
    void [page.value, picked.value, query.value];
    sort();
  });
  // A token that was revoked ends the connection: then it is asked again who we are.
  effect(() => {
    if (link.value === 'lost') void readSession();
  });
  socket.connect();
  setInterval(onSlow, SLOW_MS);
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => onVisibility(true), HIDDEN_MS);
    else onVisibility(false);
  });
  addEventListener('online', retryNow);
}
