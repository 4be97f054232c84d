import { useMemo } from 'preact/hooks';
import { count, plural } from '../shared/model/format';
import { stepRows, took, type RunSteps } from './model/steps';
import type { Range, RunTimeline } from './model/timeline';
import { Table } from '../shared/table';
import { choose } from '../shared/route';

const SHOWN = 20;

export function StepTable({ t, steps, view }: { t: RunTimeline; steps: RunSteps; view: Range }) {
  const rows = useMemo(() => stepRows(steps.cells, view), [steps, view.from, view.to]);
  if (rows.length === 0) return null;
  const names = new Map(t.lanes.map((l) => [l.rank, l.text]));
  const slow = rows.filter((r) => r.slow > 0).length;
  const all = rows.reduce((n, r) => n + r.n, 0);
  return (
    <details data-testid="run-steps" data-steps={all}>
      <summary>
        {plural(all, 'step')} in this range{steps.usual > 0 && `, usually ${took(steps.usual)}`}
        {slow > 0 && `; ${plural(slow, 'rank')} had slow steps`}
      </summary>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Steps in this range, by rank">
        <Table heads={['Rank', 'Steps', 'Median', 'Longest', 'Slow']} right={1}>
          {rows.slice(0, SHOWN).map((r) => (
            <tr key={r.rank} data-testid="run-steps-row" data-rank={r.rank}>
              <td>
                <button type="button" class="plain" onClick={() => choose({ rank: String(r.rank) })}>
                  <bdi>{names.get(r.rank) ?? `rank ${r.rank}`}</bdi>
                </button>
              </td>
              <td class="right">{count(r.n)}</td>
              <td class="right">{took(r.median)}</td>
              <td class="right">{took(r.longest)}</td>
              <td class="right">{r.slow > 0 ? <b class="text-late">{count(r.slow)}</b> : 0}</td>
            </tr>
          ))}
        </Table>
      </div>
      {rows.length > SHOWN && (
        <p class="foot">
          The first {SHOWN} of {plural(rows.length, 'rank')} are shown; ranks with slow steps come first.
        </p>
      )}
    </details>
  );
}
