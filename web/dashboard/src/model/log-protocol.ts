// Topics on logs: see protocol.ts.

// A topic for each log that somebody looks at, of a closure (cl_…) or a job (job_…).
export type LogTopic = `logs:${string}`;
export const isLog = (topic: string): topic is LogTopic => topic.startsWith('logs:');

// Whether the server has logs for things of this name; anything may stand in an address.
export const mayLog = (id: string): boolean => /^(job|cl)_[0-9a-f]{16}$/.test(id);

export interface LogLine {
  seq: number;
  time_ms: number;
  closure: string;
  index: number;
  attempt: number;
  worker: string;
  level: string;
  text: string;
}
export interface LogProgress {
  fraction: number;
  text: string;
  attempt: number;
  time_ms: number;
}
export interface LogBody {
  lines: LogLine[];
  earlier: boolean;
  dropped: number;
  ended: boolean;
  known: boolean;
  progress?: LogProgress;
}
