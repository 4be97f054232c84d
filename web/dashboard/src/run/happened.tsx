// Lists the events of the timeline as text, for users who cannot see the canvas.

import { useMemo } from 'preact/hooks';
import { clock, count, moment, plural } from '../shared/model/format';
import { Table } from '../shared/table';
import { MARKS, type Range, type RunTimeline } from './model/timeline';

const SHOWN = 100;

interface Props {
  t: RunTimeline;
  view: Range;
  look(at: number): void;
}

export function Happened(props: Props) {
  const { t, view } = props;
  return useMemo(() => <Events {...props} />, [t, view.from, view.to]); // preact skips an equal element
}

function Events({ t, view, look }: Props) {
  const within = ({ at }: { at: number }) => at >= view.from && at <= view.to;
  const all = [
    ...t.marks.map(({ at, lane, kind, text }) => ({ at, lane, what: MARKS[kind][1], text })),
    ...t.barriers.filter((b) => b.late).map(({ to, lane, text }) => ({ at: to, lane, what: 'late', text })),
    ...t.outages.map(({ to, text }) => ({ at: to, lane: -1, what: 'server', text })),
    ...t.gaps.map(({ from, text }) => ({ at: from, lane: -1, what: 'restart', text })),
  ]
    .filter(within)
    .sort((a, b) => b.at - a.at);
  if (all.length === 0) return null;
  return (
    <details data-testid="run-happened">
      <summary>{plural(all.length, 'event')} in this range</summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Events in this range">
        <Table heads={['Time', 'Event', 'Subject', 'Details']}>
          {all.slice(0, SHOWN).map((row, n) => (
            <tr key={n}>
              <td>
                <button type="button" class="plain" title={`${moment(row.at)}: zoom in`} onClick={() => look(row.at)}>
                  {clock(row.at)}
                </button>
              </td>
              <td>{row.what}</td>
              <td>
                <bdi>{row.lane < 0 ? 'all' : t.lanes[row.lane]?.text}</bdi>
              </td>
              <td class="wrap">
                <bdi>{row.text}</bdi>
              </td>
            </tr>
          ))}
        </Table>
      </div>
      {all.length > SHOWN && (
        <p class="foot">
          The newest {SHOWN} of {count(all.length)} are shown.
        </p>
      )}
    </details>
  );
}
