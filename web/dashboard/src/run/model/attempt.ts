import type { AttemptDetail as Told } from 'muster-rest';
import { age, count } from '../../shared/model/format';
import { rankLabel } from '../../shared/model/programs';
import { whoStands, whyNotWhole } from './stacks';

// The kinds of cluster events differ from the kinds of program events.
export type AttemptDetail = Omit<Told, 'events'> & { events: (Omit<Told['events'][number], 'kind'> & { kind: string })[] };

export const taskLabel = (task: string, rank: number | undefined): string => (rank === undefined ? task : rankLabel({ rank, task }));

export function seenText(a: AttemptDetail): string {
  const after = (ms: number) => age(ms - a.begun_ms);
  const parts: string[] = [];
  const add = (title: string, lines: readonly string[]) => lines.length > 0 && parts.push([title, ...lines].join('\n'));
  add(
    'Events',
    a.events.map((e) => `  after ${after(e.at_ms)}: ${e.kind}${e.about ? ` ${taskLabel(e.about, e.rank)}` : ''}${e.text ? `: ${e.text}` : ''}`),
  );
  add(
    'Stacks of killed ranks',
    a.stacks.flatMap((g) => [
      `  ${whoStands(g)}${whyNotWhole(g.state) && `: ${g.state}`}`,
      ...(g.stack ?? '')
        .split('\n')
        .filter(Boolean)
        .map((line) => `    ${line}`),
    ]),
  );
  add(
    'Barriers, newest first',
    a.barriers.map((b) => `  after ${after(b.ended_ms)}: ${b.id}, ${taskLabel(b.last, b.last_rank)} arrived last of ${count(b.participants)}, ${age(b.late_ms)} after the median arrival`),
  );
  add(
    'Late ranks',
    a.latecomers.map((l) => `  ${taskLabel(l.task, l.rank)} on ${l.host}: last at ${count(l.last)} of ${count(l.barriers)}, ${age(l.late_mean_ms)} on average`),
  );
  add(
    'Exits of ranks',
    a.ended.flatMap((r) => [
      `  ${rankLabel(r)} on ${r.host}, after ${after(r.ended_ms)}: ${r.not_started ?? (r.signal ? `signal ${r.signal}` : `exit ${r.exit_status}`)}${r.lease_ran_out ? ', its lease expired' : r.stopped ? ', stopped' : ''}`,
      ...(r.stderr ?? []).map((line) => `    stderr: ${line}`),
      ...(r.stdout ?? []).map((line) => `    stdout: ${line}`),
    ]),
  );
  for (const [what, n] of [
    ['events', a.events_left_out],
    ['stacks', a.stacks_left_out],
    ['ranks', a.ranks_left_out],
  ] as const)
    if (n) parts.push(`${count(n)} more ${what} are not shown.`);
  return parts.join('\n\n');
}
