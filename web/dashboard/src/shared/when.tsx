// Shows times as ages, with the exact time in the title.

import { age, clock, duration, moment } from './model/format';
import { slow, viewNow } from './page';

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

export function Since({ ms }: { ms: number }) {
  slow.value;
  return ms > 0 ? <time title={moment(ms)}>{age(viewNow() - ms)}</time> : null;
}

// If `to` is 0, the duration ends now. `us` is the exact duration, if it is known.
export function Span({ from, to, us }: { from: number; to: number; us?: number | undefined }) {
  slow.value;
  if (!from) return <span class="soft">–</span>;
  return <span title={`${moment(from)} to ${to ? moment(to) : 'now'}`}>{us !== undefined ? duration(us) : age((to || viewNow()) - from)}</span>;
}

export const Clock = ({ ms }: { ms: number }) => (
  <time class="mono" title={moment(ms)}>
    {clock(ms)}
  </time>
);
