import { count, plural } from '../shared/model/format';
import type { Waiting } from './model/program-protocol';
import { isOver } from '../shared/model/counts';
import { byState, chronic, lateFor, lookOf, RANK_LOOKS, rankLabel, slowText, wanted, type ProgramView, type RankView } from '../shared/model/programs';
import { rankNow, selectRank } from './inspect';
import { Panel } from '../shared/panel';
import { CARDS_MAX, RankGrid } from './rank-grid';
import { RankList } from './rank-list';
import { Choices } from '../shared/listing';
import { Span } from '../shared/when';
import { address, chosen, follow, workerAddress } from '../shared/route';

const MISSING_SHOWN = 8;

// This component is redrawn only if the lists changed; otherwise, its properties are identical.
export function Ranks({ p, ranks: all, barriers }: { p: ProgramView; ranks: readonly RankView[]; barriers: readonly Waiting[] }) {
  const at = rankNow();
  const list = chosen('ranks').value === 'list';
  const only = chosen('only').value;
  const states = byState(all);
  const ranks = only ? all.filter((r) => r.state === only) : all;
  const show = (rank: number) => selectRank(rank === at ? -1 : rank);
  return (
    <Panel id="ranks" title="Ranks" note={p.attempt > 0 ? `of attempt ${p.attempt}` : `${wanted(p)} wanted`} span={12}>
      {all.length === 0 ? (
        <p class="calm">{p.attempt === 0 ? 'All ranks are placed at once, when there are enough resources for all of them.' : 'None.'}</p>
      ) : (
        <>
          <div class="filters" data-testid="rank-states">
            <Choices
              name="only"
              label="State of ranks"
              options={[['', 'all', count(all.length)], ...states.map(([state, n]) => [state, lookOf(RANK_LOOKS, state)[2].toLowerCase(), count(n)] as const)]}
            />
            <Choices
              name="ranks"
              label="View of the ranks"
              options={[
                ['', all.length <= CARDS_MAX ? 'cards' : 'cells'],
                ['list', 'list'],
              ]}
            />
          </div>
          {barriers.map((b) => (
            <Late key={b.id} b={b} p={p} ranks={all} show={show} />
          ))}
          {chronic(p.steps).map((s) => (
            <p key={s.rank} class="rank-late" data-testid="slow-rank">
              <button type="button" class="plain text-late" onClick={() => show(s.rank)}>
                {slowText(s)}
              </button>{' '}
              <a href={workerAddress(s.worker)} onClick={follow} title={`Cordon ${s.worker} to exclude it from the next attempt`}>
                <bdi>{s.worker}</bdi>
              </a>
            </p>
          ))}
          {list ? <RankList ranks={ranks} at={at} choose={show} /> : <RankGrid ranks={ranks} card={all.length <= CARDS_MAX} at={at} blocks={isOver(p) ? undefined : p.hang?.rank} choose={show} />}
          {!list && ranks.length === 0 && <p class="calm">No rank is in this state.</p>}
          {at < 0 && <p class="foot">Choose a rank to see its log, stack and machine.</p>}
        </>
      )}
    </Panel>
  );
}

function Late({ b, p, ranks, show }: { b: Waiting; p: ProgramView; ranks: readonly RankView[]; show(rank: number): void }) {
  const missing = ranks.filter((r) => lateFor(r) === b.id);
  return (
    <p class="rank-late" data-testid="program-barrier" data-barrier={b.id}>
      <a class="text-late" href={address('/agreement', { cluster: p.coordination_cluster ?? '' })} onClick={follow}>
        Barrier <bdi>{b.id}</bdi>
      </a>
      <span>
        {count(b.arrived)} of {plural(b.of, 'rank')} arrived, waiting for <Span from={b.started} to={0} />
        {missing.length > 0 && ', missing'}
      </span>
      {missing.slice(0, MISSING_SHOWN).map((r) => (
        <button key={r.rank} type="button" class="plain" data-testid="missing-rank" onClick={() => show(r.rank)}>
          {rankLabel(r)}
        </button>
      ))}
      {missing.length > MISSING_SHOWN && <span class="soft">and {count(missing.length - MISSING_SHOWN)} more</span>}
    </p>
  );
}
