// `programs` has a row for each program; "program:prog_…" contains the details of one program.

import { bare } from '../../shared/model/ansi';
import type { NamedRows } from '../../shared/model/named-rows';
import type { AttemptView, ProgramView, RankView } from '../../shared/model/programs';

export type ProgramTopic = `program:${string}`;
export const isProgram = (topic: string): topic is ProgramTopic => topic.startsWith('program:');

// The address can contain any text, so the ID is checked.
export const mayBeProgram = (id: string): boolean => /^prog_[0-9a-f]{16}$/.test(id);

// The values that change while a program runs.
export type ProgramRow = Pick<
  ProgramView,
  'id' | 'cluster' | 'name' | 'state' | 'attempt' | 'restarts' | 'max_restarts' | 'ranks' | 'started' | 'alive' | 'created_ms' | 'finished_ms' | 'waits_for' | 'tasks'
> & {
  cause?: { text: string };
};

export interface Waiting {
  id: string;
  arrived: number;
  of: number;
  started: number;
}

// Unchanged rows keep their identity.
export class WatchedProgram {
  program: ProgramView | null = null; // null if unknown to the server
  attempts: readonly AttemptView[] = [];
  barriers: readonly Waiting[] = [];
  private byRank = new Map<number, RankView>();
  private list: readonly RankView[] | null = null;

  apply({ rows, gone }: NamedRows<object>, snapshot: boolean): void {
    if (snapshot) this.byRank.clear();
    if (snapshot || gone.includes('program')) this.program = null;
    for (const name of gone) this.byRank.delete(Number(name));
    for (const [name, row] of Object.entries(rows)) {
      if (name === 'program') this.program = row as ProgramView;
      else if (name === 'attempts') this.attempts = (row as { attempts: AttemptView[] }).attempts;
      else if (name === 'barriers') this.barriers = (row as { barriers: Waiting[] }).barriers;
      else this.byRank.set(Number(name), readable(row as RankView));
    }
    this.list = null;
  }

  ranks(): readonly RankView[] {
    return (this.list ??= [...this.byRank.values()].sort((a, b) => a.rank - b.rank));
  }
}

// Program output can contain control sequences.
const readable = (r: RankView): RankView => (r.last_line ? { ...r, last_line: bare(r.last_line) } : r);
