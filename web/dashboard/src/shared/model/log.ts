import { bare } from './ansi';
import type { Progress } from 'muster-rest';
import type { LogBody, LogLine } from './log-protocol';

export const LINES_KEPT = 2000;

// A line that ends with a carriage return is incomplete. The next line of the same closure, attempt and level replaces
// it.
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
  earlier = false; // whether the log has lines before the first line in `lines`
  dropped = 0;
  ended = false;
  known = true; // false if the job is unknown or its record was removed
  progress: Progress | null = null;

  apply(message: LogBody, snapshot: boolean): void {
    const held = snapshot ? [] : this.lines;
    const newest = held.at(-1)?.seq ?? 0; // because a delta can repeat lines that were already received
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

// Returns the position of the last line at or before a time, or -1. Lines are in the order in which the server received them.
export const lineAt = (lines: readonly LogLine[], ms: number): number => lines.findLastIndex(({ time_ms }) => time_ms <= ms);

// Also returns whether the lines have more than one writer. Without a range, returns lines of all times.
export function shownLines(log: Log, wanted: string, range: { from: number; to: number } | null = null): { lines: readonly LogLine[]; several: boolean } {
  const words = wanted.trim().toLowerCase();
  const lines = log.lines.filter((l) => (!range || (l.time_ms >= range.from && l.time_ms <= range.to)) && (!words || bare(l.text).toLowerCase().includes(words) || l.worker.includes(words)));
  const first = log.lines[0];
  return { lines, several: log.lines.some((l) => l.closure !== first!.closure || l.attempt !== first!.attempt || l.worker !== first!.worker) };
}
