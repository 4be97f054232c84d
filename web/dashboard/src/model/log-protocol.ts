// Topics on logs: see protocol.ts.

import type { LogLines, Progress } from 'muster-rest';

// A topic for the log of a closure (cl_…) or a job (job_…) that the page shows.
export type LogTopic = `logs:${string}`;
export const isLog = (topic: string): topic is LogTopic => topic.startsWith('logs:');

// Whether the id can have a log; addresses may contain anything.
export const mayLog = (id: string): boolean => /^(job|cl)_[0-9a-f]{16}$/.test(id);

export type LogLine = LogLines['lines'][number];
export interface LogBody {
  lines: LogLine[];
  earlier: boolean;
  dropped: number;
  ended: boolean;
  known: boolean;
  progress?: Progress;
}
