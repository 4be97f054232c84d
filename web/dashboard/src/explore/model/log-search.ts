import type { LogMatches } from 'muster-rest';
import { bare } from '../../shared/model/ansi';

export type { LogMatches };
export type ClosureLine = LogMatches['lines'][number];
export type RankLine = LogMatches['rank_lines'][number];

export interface Wanted {
  text: string;
  exact: boolean; // case-sensitive
  where: '' | 'closures' | 'programs';
  cluster: string;
  job: string; // ID or name
  program: string; // ID or name
  rank: string;
  attempt: string;
  from: number; // ms
  to: number;
}

// The closures of a cluster, or a single program.
export interface Source {
  key: string;
  title: string;
  program: string; // program ID; empty for closures
  query: Readonly<Record<string, string | number>>;
}
interface Named {
  id: string;
  name: string;
}

export const PROGRAMS_MAX = 8; // newest matching programs; each search queries their workers
const JOBS_MAX = 4; // maximum number of jobs with the same name

export const isId = (text: string): boolean => /^(job|prog)_[0-9a-f]{16}$/.test(text);

// A search without text requires a job, a program or a time range.
export const isAsked = (w: Wanted): boolean => w.text !== '' || w.job !== '' || w.program !== '' || w.from > 0 || w.to > 0;

// Rank output has no time stamps and does not belong to a job.
export const looksInPrograms = (w: Wanted): boolean => w.where !== 'closures' && !w.job && !w.from && !w.to;
export const looksInClosures = (w: Wanted): boolean => w.where !== 'programs' && !w.program && !w.rank && !w.attempt;

export function sourcesOf(w: Wanted, jobs: readonly Named[], programs: readonly Named[]): Source[] {
  const common = { text: w.text, ...(w.exact ? {} : { ignore_case: 'true' }) };
  const found: Source[] = [];
  if (looksInClosures(w)) {
    const query = { ...common, cluster: w.cluster, from_ms: w.from || '', to_ms: w.to || '' };
    if (!w.job) found.push({ key: 'closures', title: 'Closures', program: '', query });
    else for (const { id, name } of jobs.slice(0, JOBS_MAX)) found.push({ key: id, title: `Job ${name || id}`, program: '', query: { ...query, job: id } });
  }
  if (looksInPrograms(w))
    for (const { id, name } of programs.slice(0, PROGRAMS_MAX))
      found.push({ key: id, title: `Program ${name || id}`, program: id, query: { ...common, program: id, rank: w.rank, attempt: w.attempt } });
  return found;
}

export interface Found {
  lines: readonly ClosureLine[];
  ranks: readonly RankLine[];
  unread: readonly string[];
  next: string;
  state: 'waits' | 'reads' | 'done';
  problem: string;
}
export const nothingFound: Found = { lines: [], ranks: [], unread: [], next: '', state: 'waits', problem: '' };

export const LINES_MAX = 2000; // maximum number of lines per source
const STEP = 100;
const PAGES_MAX = 20; // maximum number of pages per step, because pages can be empty

export const sizeOf = ({ lines, ranks }: Found): number => lines.length + ranks.length;

// Calls `told` after each page.
export async function gather(held: Found, read: (token: string) => Promise<LogMatches>, told: (now: Found) => void): Promise<Found> {
  const before = sizeOf(held);
  let now: Found = { ...held, state: 'reads', problem: '' };
  told(now);
  for (let page = 0; page < PAGES_MAX; ++page) {
    try {
      const { lines, rank_lines: ranks, unread = [], next_page_token: next = '' } = await read(now.next);
      now = { ...now, lines: [...now.lines, ...lines], ranks: [...now.ranks, ...ranks], unread: [...new Set([...now.unread, ...unread])], next };
    } catch (error) {
      now = { ...now, problem: error instanceof Error ? error.message : String(error) };
    }
    if (now.problem || !now.next || sizeOf(now) - before >= STEP || sizeOf(now) >= LINES_MAX) break;
    told(now);
  }
  now = { ...now, state: 'done' };
  told(now);
  return now;
}

export interface Piece {
  text: string;
  marked: boolean;
}
const SHOWN = 600;
const BEFORE = 120; // number of characters before the first match in a longer line
const MARKS_MAX = 50;

// Ignores case in the same way as the server.
const lower = (text: string): string => text.replace(/[A-Z]/g, (c) => c.toLowerCase());

// Marks the matches. If the line is long, returns only the part around the first match.
export function pieces(printed: string, wanted: string, exact: boolean): Piece[] {
  const line = bare(printed);
  const fold = exact ? (text: string) => text : lower;
  const [hay, needle] = [fold(line), fold(wanted)];
  const first = needle ? hay.indexOf(needle) : -1;
  const begin = line.length <= SHOWN ? 0 : Math.max(0, Math.min(first - BEFORE, line.length - SHOWN));
  const end = Math.min(line.length, begin + SHOWN);
  const found: Piece[] = [];
  const push = (text: string, marked: boolean) => text && found.push({ text, marked });
  push(begin > 0 ? '…' : '', false);
  let at = begin;
  for (let n = 0, to = first; to >= 0 && to < end && n < MARKS_MAX; ++n, to = hay.indexOf(needle, at)) {
    push(line.slice(at, to), false);
    at = Math.min(end, to + needle.length);
    push(line.slice(to, at), true);
  }
  push(line.slice(at, end), false);
  push(end < line.length ? '…' : '', false);
  return found;
}
