// The lines of one log as the server sent them, newest last, no more than fit on a page. Plain data.

import { bare } from './ansi';
import type { Progress } from 'muster-rest';
import type { LogBody, LogLine } from './log-protocol';

export const LINES_KEPT = 2000;

// A line that ends with a carriage return has not ended: the next one of its closure, attempt and level replaces it.
function withoutReplaced(lines: readonly LogLine[]): LogLine[] {
  if (!lines.some((line) => line.text.endsWith('\r'))) return [...lines];
  const later = new Set<string>();
  return [...lines]
    .reverse()
    .filter((line) => {
      const of = `${line.closure} ${line.attempt} ${line.level}`;
      const replaced = line.text.endsWith('\r') && later.has(of);
      later.add(of);
      return !replaced;
    })
    .reverse();
}

export class Log {
  lines: readonly LogLine[] = [];
  version = 0;
  earlier = false; // there were lines before these
  dropped = 0;
  ended = false;
  known = true; // else the job is forgotten, or never was
  progress: Progress | null = null;

  apply(message: LogBody, snapshot: boolean): void {
    const held = snapshot ? [] : this.lines;
    const newest = held.at(-1)?.seq ?? 0; // a delta that reaches further back repeats some
    const all = withoutReplaced([...held, ...message.lines.filter((line) => line.seq > newest)]);
    this.lines = all.slice(-LINES_KEPT);
    this.earlier = message.earlier || (!snapshot && this.earlier) || all.length > LINES_KEPT;
    this.dropped = message.dropped;
    this.ended = message.ended;
    this.known = message.known;
    this.progress = message.progress ?? null;
    ++this.version;
  }
}

// Lines that hold the words, and whether their writers must be told apart.
export function shownLines(log: Log, wanted: string): { lines: readonly LogLine[]; several: boolean } {
  const words = wanted.trim().toLowerCase();
  const lines = words ? log.lines.filter((l) => bare(l.text).toLowerCase().includes(words) || l.worker.includes(words)) : log.lines;
  const first = log.lines[0];
  return { lines, several: log.lines.some((l) => l.closure !== first!.closure || l.attempt !== first!.attempt || l.worker !== first!.worker) };
}
