// The numbers of the whole server, as the topic `counters` and GET /api/v1/overview tell them.

export interface FunctionCounts {
  name: string;
  workers: number; // connected ones that have it
  ever_had: boolean; // by some worker
  waiting: number; // for an input, a time or their gang; not among the queued
  queued: number;
  running: number;
  succeeded: number;
  failed: number;
}

// By the name that is shown: of Python, the callable's.
export type ShownFunction = Omit<FunctionCounts, 'workers' | 'ever_had'> & { cancelled: number };

// Closures by state.
export type Counts = Record<'total' | 'blocked' | 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled', number>;

export interface Counters {
  uptime_ms: number;
  tasks: { connected: number; late: number; error: number; disconnected: number; total: number };
  closures: Omit<Counts, 'total'> & { put_back: number };
  rates: { finished: number; failed: number };
  remote_values: { not_ready: number; ready: number; aborted: number; errors?: number; held: number; held_bytes: number };
  heartbeat_age_ms: { p50: number; p99: number; max: number };
  jobs: { queued?: number; running: number; succeeded: number; failed: number; cancelled: number };
  sessions: number;
  durable?: Durable; // without: everything is in memory
  stalled: Stalled;
  alone: Alone;
  functions: FunctionCounts[];
  progress?: { functions: ShownFunction[]; more: number }; // the busiest
}

// What is written to --data-dir or --store.
export interface Durable {
  store: string; // rocksdb, etcd
  data_dir: string;
  epoch: number; // starts of servers there
  restored_in_ms: number;
  changes: number;
  changes_waiting: number;
  waiting_bytes: number;
  disk_bytes: number; // of the state
  blob_bytes?: number;
  free_bytes?: number; // of its disk, or of etcd's quota
  full_since_ms?: number; // new durable work is refused until there is room
  full?: string; // where, and how much is free
  leader?: string; // with --store: where others find this server
  failed_since_ms?: number;
  failure?: string;
  history_since_ms?: number; // of what people look at: there was something then, 0: nothing was found
  history_bytes?: number;
  history_dropped?: number; // records that are missing, for whatever reason
  history_unreadable?: number; // of these, damaged on disk
}

// The server's watchdog: nothing has finished since then; 0 when all is well, or nobody watches.
export interface Stalled {
  since_ms: number;
  oldest: { closure: string; function: string; worker: string; since_ms: number }[];
}

// Closures that have lost worker after worker: the next one does nothing else meanwhile. At most 20 are listed.
export interface Alone {
  count: number;
  oldest: { closure: string; job?: string; function: string; workers_lost: number; worker?: string; since_ms: number }[];
}
