import type { LogLines, Progress } from 'muster-rest';

export type LogTopic = `logs:${string}`;
export const isLog = (topic: string): topic is LogTopic => topic.startsWith('logs:');

// The address can contain any text, so the ID is checked.
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
