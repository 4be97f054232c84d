import { endOf, lateFor, rankLabel, resourcesOf, stepOf, type RankView } from '../shared/model/programs';
import { Grid, type Column } from '../shared/grid';
import { RankChip } from '../shared/program-state';

const note = (r: RankView): string => endOf(r) || (lateFor(r) && `late for ${lateFor(r)}`);

const columns: readonly Column<RankView>[] = [
  { title: 'State', width: '96px', cell: (r) => <RankChip state={r.state} /> },
  { title: 'Rank', width: 'minmax(90px, 150px)', cell: (r) => <bdi>{rankLabel(r)}</bdi> },
  { title: 'Host', width: 'minmax(110px, 220px)', cell: (r) => <bdi>{r.host}</bdi> },
  { title: 'Resources', width: '96px', narrow: 'hide', says: (r) => resourcesOf(r.resources), cell: (r) => resourcesOf(r.resources) },
  { title: 'Step', width: '140px', narrow: 'hide', says: stepOf, cell: (r) => stepOf(r) },
  { title: 'Delay or outcome', width: 'minmax(120px, 1fr)', says: note, cell: (r) => <bdi class={r.state === 'FAILED' ? 'text-error' : lateFor(r) ? 'text-late' : ''}>{note(r)}</bdi> },
  {
    title: 'Last line',
    width: 'minmax(180px, 3fr)',
    narrow: 'long',
    cell: (r) => (
      <bdi class="mono rank-line" title={r.last_line} data-testid="rank-line">
        {r.last_line}
      </bdi>
    ),
  },
];

export function RankList({ ranks, at, choose }: { ranks: readonly RankView[]; at: number; choose(rank: number): void }) {
  return (
    <div class="rank-list">
      <Grid
        id="ranks"
        testid="rank"
        columns={columns}
        rows={ranks}
        name={(r) => String(r.rank)}
        kind={(r) => (r.state === 'FAILED' ? 'row-error' : '')}
        data={(r) => ({ 'data-rank': String(r.rank), 'data-state': r.state })}
        chosen={at < 0 ? null : String(at)}
        choose={(name) => choose(name === null ? -1 : Number(name))}
        least={720}
        empty="No rank is in this state."
      />
    </div>
  );
}
