// The state of the page: the user's choices, and the signals that notify components about changes of the store.
//
// The store is plain data. Components read a signal (`slow` or `fast`) and then the store, so 10,000 rows need no signals:
//   slow  twice a second, for digits: faster changes are not readable
//   fast  at most once per animation frame, when the state of a task changed: canvas and rows turn red immediately
// A hidden page gets neither, except a tick of `slow` when its alerts change, for the tab's title and icon.

import { outside } from './base';
import { readSession, session } from './session';
import { computed, effect, signal } from '@preact/signals';
import { mayLog } from './model/log-protocol';
import { mayBeProgram } from '../run/model/program-protocol';
import { listOrder, mapGroups, type MapGroup } from './model/order';
import type { ClusterRow, Topic } from './model/protocol';
import { choose, chosen, page, picked, startRouting, subject } from './route';
import { Socket, type Link, type Wire } from './socket';
import { Store } from './model/store';

const SLOW_MS = 500;
const SORT_MS = 1000;
const HIDDEN_MS = 30_000; // how long a hidden tab keeps all subscriptions

export const store = new Store();

export const slow = signal(0);
export const fast = signal(0);
export const link = signal<Link>('connecting');
export const paused = signal(false);
export const query = chosen('q');
export const rebooted = signal(false); // cleared when the user has read the notice
export const shortcuts = signal(localStorage.getItem('muster.shortcuts') !== 'off');
export const helpOpen = signal(false);
export const paletteOpen = signal(false);
export const serverOpen = signal(false);
export const order = signal<Float64Array>(new Float64Array(0));
export const groups = signal<MapGroup[]>([]);

export const frozen = computed(() => paused.value || link.value !== 'live');

const socket = new Socket(
  store,
  {
    open: (subprotocol) => new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${outside('/api/v1/ws')}`, subprotocol) as Wire,
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

export function dataAge(): number {
  return performance.now() - socket.lastHeard;
}

// True if the server shows the data of a stopped server. The clock is then frozen.
export const stands = computed(() => session.value?.read_only ?? false);

// Returns the server time. The time is frozen with the page; otherwise, healthy heartbeats would seem to age.
export function viewNow(): number {
  return frozen.value || stands.value ? store.serverNow : store.serverNow + Math.max(0, dataAge());
}

export function setPaused(next: boolean): void {
  if (next && store.tasks.stateVersion !== sortedState) sort(); // otherwise, the frozen list would change one more time
  paused.value = next;
  socket.freeze(next);
}

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

// Returns false until the first counters arrive.
export const keepsHistory = (): boolean => store.counters?.durable?.history_bytes !== undefined;

function requestFrame(): void {
  if (frame === 0 && !document.hidden) frame = requestAnimationFrame(onFrame);
}

function onFrame(): void {
  frame = 0;
  const { tasks } = store;
  const fill = store.clusters.version + store.agents.version + store.barriers.version + store.events.version + store.attention.version + store.programs.version + store.watchedVersion;
  if ((!filled && store.counters) || (fill !== drawnRows && performance.now() - drawnAt > SLOW_MS / 4)) {
    filled = true; // the first rendering does not wait for the next half second
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

// The overview lists the workers of all clusters. The task page lists the workers of the selected cluster.
function ofCluster(): string | undefined {
  const of = cluster();
  return page.value.path === '/fleet' && of ? poolOf(of) : undefined;
}

// Sorts at most once per second: moving rows are unreadable, and sorting is the most expensive step.
function sortIfDue(): void {
  const stale = store.tasks.stateVersion !== sortedState || ofCluster() !== sortedOf;
  const first = sortedSize === 0 && store.tasks.size > 0; // the first rows are sorted without delay
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
  want(hidden ? ['counters', 'attention'] : topics()); // because the tab's title and icon need these topics
  if (!hidden) {
    socket.connect();
    requestFrame();
    onSlow();
  }
}

// Returns the page's topics and the topic of the displayed log or program.
function topics(): readonly Topic[] {
  const { path, topics } = page.value;
  const of = path === '/runs/*' || path === '/closures/*' ? subject.value : '';
  // Ctrl-K finds workers and agents from any page.
  const all: readonly Topic[] = paletteOpen.value ? [...new Set<Topic>([...topics, 'tasks', 'agents', 'jobs', 'barriers'])] : topics;
  if (path === '/runs/prog_*' && mayBeProgram(subject.value)) return [...all, `program:${subject.value}`];
  const call = path === '/runs/*' ? chosen('call').value : ''; // the call in the inspector
  return [...all, ...[of, call].filter(mayLog).map((id): Topic => `logs:${id}` as Topic)];
}

function want(topics: readonly Topic[]): void {
  store.keepWatched(topics);
  socket.want(topics);
}

// A program's cluster has the program's id as its name, which is shown as the program's name.
export function clusterName(name: string): string {
  slow.value; // the program's name can arrive later
  return store.programs.get(name)?.name || name;
}

// Returns the cluster in the address, or else the cluster of the main port.
export function cluster(): ClusterRow | undefined {
  const all = store.clusters.all();
  if (picked.value) return all.find((row) => row.name === picked.value);
  return all.find((row) => row.main) ?? all[0];
}

// The value is false until the clusters are known.
export const unknownCluster = computed(() => {
  slow.value;
  return picked.value !== '' && store.clusters.all().length > 0 && !cluster();
});

// The cluster's name, which is empty for the main cluster. Until the clusters are known, it is a cluster to which the token is
// restricted.
export const clusterQuery = computed(() => {
  slow.value;
  const of = cluster();
  if (of) return of.main ? '' : of.name;
  return picked.value || session.value?.clusters?.[0] || '';
});

// The address contains the task's name.
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
  if (name) for (let slot = 0; slot < tasks.size && id === null; ++slot) if (tasks.nameAt(slot) === name && (tasks.clusterAt(slot) === pool || page.peek().path === '/now')) id = tasks.idAt(slot);
  named = { of: key, rows: tasks.rowsVersion, id };
  return id;
}

// Rows contain an empty name for the main cluster.
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
  // A revoked token ends the connection, so the session is read again.
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
