// Decides whether a message can be applied. Uses no sockets, signals or clock.

import { bare } from './ansi';
import { History } from './history';
import { Log } from './log';
import { RowSet } from './named-rows';
import { changedRows, keepSeen, shortTasks, takeAges } from './agents';
import { isLog } from './log-protocol';
import { isProgram, WatchedProgram, type ProgramRow } from '../../run/model/program-protocol';
import type { AgentRow, AttentionRow, BarrierRow, ClusterRow, Counters, EventRow, Hello, Job, LogMessage, ProgramMessage, Topic, TopicMessage } from './protocol';
import { Tasks } from './tasks';

// `old` means that the message was already applied. `gap` means that an earlier message is missing, so the topic must be
// requested again.
export type Outcome = 'applied' | 'old' | 'gap';

export class Store {
  hello: Hello | null = null;
  counters: Counters | null = null;
  serverNow = 0; // server time of the newest applied message
  updates = 0;
  jobsVersion = 0;
  readonly history = new History();
  readonly tasks = new Tasks();
  readonly clusters = new RowSet<ClusterRow>();
  readonly agents = new RowSet<AgentRow>();
  readonly barriers = new RowSet<BarrierRow>();
  readonly events = new RowSet<EventRow>();
  readonly attention = new RowSet<AttentionRow>();
  readonly programs = new RowSet<ProgramRow>();
  watchedVersion = 0; // counts all changes of watched logs and programs
  private logs = new Map<Topic, Log>();
  private watched = new Map<Topic, WatchedProgram>();
  private jobsById = new Map<string, Job>();
  private seqs = new Map<Topic, number>();

  // Returns the sequence number for a resume, or null if a snapshot is required.
  seq(topic: Topic): number | null {
    return this.seqs.get(topic) ?? null;
  }

  log(topic: Topic): Log | undefined {
    return this.logs.get(topic);
  }

  program(topic: Topic): WatchedProgram | undefined {
    return this.watched.get(topic);
  }

  // A dropped topic starts with a snapshot when it is shown again.
  keepWatched(topics: readonly Topic[]): void {
    for (const held of [this.logs, this.watched])
      for (const topic of held.keys())
        if (!topics.includes(topic)) {
          held.delete(topic);
          this.seqs.delete(topic);
        }
  }

  // Returns an empty text for a job without a name, or that is not among the newest jobs.
  jobName(id: string): string {
    return this.jobsById.get(id)?.name ?? '';
  }

  jobs(): Job[] {
    return [...this.jobsById.values()].sort((a, b) => b.created_ms - a.created_ms || (a.id < b.id ? 1 : -1));
  }

  // Returns whether the server process has changed. The old data stays, marked, until snapshots replace it, because it is better
  // than an empty page.
  greet(hello: Hello): boolean {
    const other = this.hello !== null && this.hello.boot !== hello.boot;
    if (other) this.seqs.clear();
    this.hello = hello;
    return other;
  }

  apply(message: TopicMessage): Outcome {
    if (message.t === 'd') {
      const held = this.seqs.get(message.topic);
      if (held === undefined || message.from > held) return 'gap';
      if (message.seq <= held) return 'old';
      // A delta with from < held < seq is allowed: rows are complete, so the delta only repeats rows.
    }
    if (isLog(message.topic)) this.applyLog(message as LogMessage);
    else if (isProgram(message.topic)) this.applyProgram(message as ProgramMessage);
    else this.applyRows(message as Exclude<TopicMessage, LogMessage | ProgramMessage>);
    this.seqs.set(message.topic, message.seq);
    this.serverNow = message.now;
    ++this.updates;
    return 'applied';
  }

  private applyLog(message: LogMessage): void {
    const log = this.logs.get(message.topic) ?? new Log();
    log.apply(message, message.t === 'snap');
    this.logs.set(message.topic, log);
    ++this.watchedVersion;
  }

  private applyProgram(message: ProgramMessage): void {
    const program = this.watched.get(message.topic) ?? new WatchedProgram();
    program.apply(message, message.t === 'snap');
    this.watched.set(message.topic, program);
    ++this.watchedVersion;
  }

  private applyRows(message: Exclude<TopicMessage, LogMessage | ProgramMessage>): void {
    switch (message.topic) {
      case 'counters':
        if (message.t === 'snap') this.history.clear();
        this.counters = message.data;
        this.history.append(message.history);
        break;
      case 'tasks':
        if (message.t === 'snap') this.tasks.clear();
        this.tasks.apply(message.rows, message.gone, message.now, this.hello?.heartbeat_ms ?? 5000);
        break;
      case 'jobs':
        if (message.t === 'snap') this.jobsById.clear();
        for (const id of message.gone) this.jobsById.delete(id);
        for (const job of message.jobs) this.jobsById.set(job.id, job);
        ++this.jobsVersion;
        break;
      case 'clusters':
        this.clusters.apply(message, message.t === 'snap');
        break;
      case 'agents':
        keepSeen(message.rows, (name) => this.agents.get(name));
        Object.assign(
          message.rows,
          changedRows(message.changes ?? [], (name) => this.agents.get(name)),
        );
        this.agents.apply(message, message.t === 'snap');
        if (message.ages) takeAges(message.ages, message.now, (name) => this.agents.get(name));
        break;
      case 'barriers':
        this.barriers.apply(message, message.t === 'snap');
        break;
      case 'events':
        for (const row of Object.values(message.rows)) row.text = shortTasks(bare(row.text)); // because the texts can quote program output
        this.events.apply(message, message.t === 'snap');
        break;
      case 'attention':
        for (const row of Object.values(message.rows)) row.detail = shortTasks(row.detail);
        this.attention.apply(message, message.t === 'snap');
        break;
      case 'programs':
        this.programs.apply(message, message.t === 'snap');
        break;
    }
  }
}
