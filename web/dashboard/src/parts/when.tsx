// Times, as people ask for them: how long ago; the exact time on top.

import { age, moment } from '../model/format';
import { slow, viewNow } from '../page';

export function Ago({ ms, none = '–' }: { ms: number; none?: string }) {
  slow.value;
  if (!ms) return <span class="soft">{none}</span>;
  const past = viewNow() - ms;
  return (
    <time dateTime={new Date(ms).toISOString()} title={moment(ms)}>
      {past < 0 ? `in ${age(-past)}` : `${age(past)} ago`}
    </time>
  );
}

// Nothing takes no time: "0 ms" would say so.
const length = (ms: number): string => (ms < 1 ? '< 1 ms' : age(ms));

// From one moment to another, or to now.
export function Span({ from, to }: { from: number; to: number }) {
  slow.value;
  if (!from) return <span class="soft">–</span>;
  return <span title={`${moment(from)} to ${to ? moment(to) : 'now'}`}>{length((to || viewNow()) - from)}</span>;
}
