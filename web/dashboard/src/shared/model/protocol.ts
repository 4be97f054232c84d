// The messages of `GET /api/v1/ws` (subprotocol muster.v1), as types and as a parser.
//
// The server sends state, not events: a `snap` message contains a whole topic, and a `d` (delta) message contains the
// changes since `from`. test/golden/ contains one message of each kind; the C++ code and this code are both tested
// against it.

import type { Attention, BarrierView, Events, Generation, JobView } from 'muster-rest';
import type { Counters } from './counters-protocol';
import { isLog, type LogBody, type LogTopic } from './log-protocol';
import type { NamedRows } from './named-rows';
import { isProgram, type ProgramRow, type ProgramTopic } from '../../run/model/program-protocol';

export type { Counters } from './counters-protocol';

export const SUBPROTOCOL = 'muster.v1';

const TOPICS = ['counters', 'tasks', 'jobs', 'clusters', 'agents', 'barriers', 'events', 'attention', 'programs'] as const;
export type Topic = (typeof TOPICS)[number] | LogTopic | ProgramTopic;

// Ordered by severity; the task list and the map sort by this order. Only agents can be REGISTERING.
export const TASK_STATES = ['CONNECTED', 'REGISTERING', 'LATE', 'DISCONNECTED', 'ERROR'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export type JobState = JobView['state'];
export const unfinished = (state: JobState): boolean => state === 'QUEUED' || state === 'RUNNING';

export interface Hello {
  t: 'hello';
  proto: string;
  boot: string; // if the boot ID changes, all sequence numbers have restarted
  now: number;
  version: string;
  cluster: string;
  heartbeat_ms: number;
  late_ms: number;
  timeout_ms: number;
  limits: { message_bytes: number; subscriptions: number; logs?: number };
}

export interface HistoryPoints {
  step_ms: number;
  t: number[];
  queued: number[];
  running: number[];
  finished: number[];
  failed: number[];
  hb_p99: number[];
}

// Parallel arrays of equal length, with an entry for each task.
export interface TaskRows {
  i: number[];
  cluster?: string[]; // empty or missing for the main cluster
  job: string[];
  index: number[];
  state: string[];
  seen: number[];
  since: number[];
  incarnation: string[];
  host: string[];
  slots: number[];
  running: number[];
  finished: number[];
  failed?: number[]; // also included in `finished`; older servers omit it
  cordoned?: number[]; // 1 if the worker gets no new closures until it is uncordoned
  error: string[];
}

export interface Job {
  id: string;
  cluster?: string; // empty for the main cluster
  name: string;
  state: JobState;
  total: number;
  queued: number;
  running: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  created_ms: number;
  finished_ms: number;
  error: string;
}

// Topics of named rows: a changed row is sent completely. Times are absolute; 0 means that the event has not happened.
const AGENT_STATES = ['CONNECTED', 'REGISTERING', 'MISSING', 'DISCONNECTED', 'LATE', 'ERROR'] as const;
type AgentState = (typeof AGENT_STATES)[number];

export interface ClusterRow {
  name: string;
  main: boolean; // whether the cluster uses the server's own port; if so, its tasks include closure workers
  address: string; // address for agents; can be empty
  tasks: number;
  has_workers: boolean; // whether closure workers have connected
  failed_jobs?: number; // number of failed jobs and sessions, as in the list of jobs
  state: Generation['state'];
  ends?: boolean; // whether the cluster still runs although its program is ending or has ended
  generation: number;
  started: number;
  // `unheard` counts connected agents that have sent no heartbeat since a server restart.
  agents: Record<Lowercase<AgentState>, number> & { unheard?: number };
  barriers: number;
  keys: number;
  key_waits: number;
  cause?: { task: string; message: string; at: number };
}

// Ages by cluster and job, as one character for each task; see takeAges.
export type HeartbeatAges = Record<string, { unit_ms: number; jobs: Record<string, string> }>;

// Members that do not apply to the agent are missing.
interface AgentFares {
  state: AgentState;
  code?: string;
  error?: string;
  casualty?: boolean; // true if another task's error caused this failure
  late_for?: string;
  late_since?: number;
  waits: string[];
}

export interface AgentRow extends AgentFares {
  cluster: string;
  job: string;
  index: number;
  incarnation: string;
  address: string;
  registered: number;
  unheard?: boolean; // true if there was no heartbeat since a server restart
  // Time of the last heartbeat if heartbeats have stopped. Otherwise computed from the ages column, with a precision of
  // 1/48 of the heartbeat timeout.
  seen: number;
  devices: number;
  device_names?: string[];
}

// A change that can move thousands of rows to the same state at once.
export interface AgentChange {
  job: string; // CLUSTER/JOB
  tasks: number[]; // first and last index of each range, alternating
  set: AgentFares;
}

export interface BarrierRow {
  cluster: string;
  id: string;
  counter: number;
  state: BarrierView['state'];
  arrived: number;
  of: number;
  started: number;
  ended: number;
  deadline: number;
  first: string;
  error: string;
  missing: { task: string; address: string; seen: number }[];
}

export type AttentionRow = Attention['items'][number];
export type EventRow = Events['events'][number];

interface Stamp {
  seq: number;
  now: number;
}
type Snap<T extends Topic, Body> = Stamp & { t: 'snap'; topic: T } & Body;
type Delta<T extends Topic, Body> = Stamp & { t: 'd'; topic: T; from: number } & Body;
type Both<T extends Topic, Body> = Snap<T, Body> | Delta<T, Body>;

type CountersMessage = Both<'counters', { data: Counters; history: HistoryPoints }>;
export type TasksMessage = Both<'tasks', { rows: TaskRows; gone: number[] }>;
type JobsMessage = Both<'jobs', { jobs: Job[]; gone: string[] }>;
type ClustersMessage = Both<'clusters', NamedRows<ClusterRow>>;
export type AgentsMessage = Both<'agents', NamedRows<AgentRow> & { changes?: AgentChange[]; ages?: HeartbeatAges }>;
type BarriersMessage = Both<'barriers', NamedRows<BarrierRow>>;
export type EventsMessage = Both<'events', NamedRows<EventRow>>;
type AttentionMessage = Both<'attention', NamedRows<AttentionRow>>;
type ProgramsMessage = Both<'programs', NamedRows<ProgramRow>>;
export type ProgramMessage = Both<ProgramTopic, NamedRows<object>>;
export type LogMessage = Both<LogTopic, LogBody>;
export type TopicMessage =
  | CountersMessage
  | TasksMessage
  | JobsMessage
  | ClustersMessage
  | AgentsMessage
  | BarriersMessage
  | EventsMessage
  | AttentionMessage
  | ProgramsMessage
  | ProgramMessage
  | LogMessage;

type ErrorMessage = { t: 'err'; code: string; text: string };
type Bye = { t: 'bye'; reason: string; retry_ms: number };

export type ServerMessage = Hello | TopicMessage | ErrorMessage | Bye;

export type ClientMessage =
  | { t: 'sub'; topic: Topic }
  | { t: 'unsub'; topic: Topic }
  | { t: 'resume'; boot: string; topics: Partial<Record<Topic, number>> }
  | { t: 'ack' }
  | { t: 'rows'; ids: number[] };

export const MAX_WATCHED_ROWS = 200;

export class ProtocolError extends Error {}

type Fields = Record<string, unknown>;

function fields(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ProtocolError(`${what} is not an object`);
  return value as Fields;
}

function number(of: Fields, key: string): void {
  if (typeof of[key] !== 'number') throw new ProtocolError(`${key} is not a number`);
}

function columns(of: Fields, keys: readonly string[], what: string): void {
  const length = (of[keys[0]!] as unknown[] | undefined)?.length;
  for (const key of keys) {
    const column = of[key];
    if (!Array.isArray(column) || column.length !== length) throw new ProtocolError(`${what}.${key} is not a column of ${length}`);
  }
}

const TASK_COLUMNS = ['i', 'job', 'index', 'state', 'seen', 'since', 'incarnation', 'host', 'slots', 'running', 'finished', 'error'];
const HISTORY_COLUMNS = ['t', 'queued', 'running', 'finished', 'failed', 'hb_p99'];

// Checks only what later code relies on, because dashboard and server are one binary.
function checkBody(topic: string, message: Fields): void {
  switch (topic) {
    case 'counters': {
      const data = fields(message.data, 'data');
      for (const group of ['tasks', 'closures', 'rates', 'remote_values', 'heartbeat_age_ms', 'jobs']) fields(data[group], group);
      if (!Array.isArray(data.functions)) throw new ProtocolError('functions is not a list');
      columns(fields(message.history, 'history'), HISTORY_COLUMNS, 'history');
      return;
    }
    case 'tasks':
      columns(fields(message.rows, 'rows'), TASK_COLUMNS, 'rows');
      message.gone ??= [];
      return;
    case 'jobs':
      if (!Array.isArray(message.jobs)) throw new ProtocolError('jobs is not a list');
      message.gone ??= [];
      return;
    default:
      if (isLog(topic)) {
        if (!Array.isArray(message.lines)) throw new ProtocolError('lines is not a list');
        return;
      }
      fields(message.rows, 'rows');
      message.gone ??= [];
      message.more ??= 0;
  }
}

// A newer server may send other kinds of messages.
export function parse(text: string): ServerMessage | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ProtocolError('not JSON');
  }
  const message = fields(json, 'message');
  switch (message.t) {
    case 'hello':
      if (typeof message.boot !== 'string') throw new ProtocolError('hello has no boot');
      for (const key of ['now', 'heartbeat_ms', 'late_ms', 'timeout_ms']) number(message, key);
      break;
    case 'snap':
    case 'd':
      if (!(TOPICS as readonly unknown[]).includes(message.topic) && !isLog(String(message.topic)) && !isProgram(String(message.topic))) return null;
      number(message, 'seq');
      number(message, 'now');
      if (message.t === 'd') number(message, 'from');
      checkBody(message.topic as string, message);
      break;
    case 'err':
    case 'bye':
      break;
    default:
      return null;
  }
  return message as unknown as ServerMessage;
}
