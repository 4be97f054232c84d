import { count, plural } from '../shared/model/format';
import type { Waiting } from './model/program-protocol';
import { byState, chronic, endOf, lateFor, lookOf, RANK_LOOKS, rankLabel, resourcesOf, slowText, stepOf, wanted, type ProgramView, type RankView } from '../shared/model/programs';
import { Fact, TextFact } from '../shared/fact';
import { Panel } from '../shared/panel';
import { CARDS_MAX, RankGrid } from './rank-grid';
import { RankList } from './rank-list';
import { RankLog } from './rank-log';
import { Choices } from '../shared/listing';
import { Span } from '../shared/when';
import { address, choose, chosen, follow, workerAddress } from '../shared/route';

const MISSING_SHOWN = 8;

// This component is redrawn only if the lists changed; otherwise, its properties are identical.
export function Ranks({ p, ranks: all, barriers }: { p: ProgramView; ranks: readonly RankView[]; barriers: readonly Waiting[] }) {
  const at = Number(chosen('rank').value || -1);
  const list = chosen('ranks').value === 'list';
  const only = chosen('only').value;
  const states = byState(all);
  const ranks = only ? all.filter((r) => r.state === only) : all;
  const one = all.find((r) => r.rank === at);
  const show = (rank: number) => choose({ rank: rank < 0 || rank === at ? '' : String(rank) });
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
          {list ? <RankList ranks={ranks} at={at} choose={show} /> : <RankGrid ranks={ranks} card={all.length <= CARDS_MAX} at={at} choose={show} />}
          {!list && ranks.length === 0 && <p class="calm">No rank is in this state.</p>}
          {one ? <Rank key={`${p.id} ${p.attempt} ${one.rank}`} p={p} r={one} /> : <p class="foot">Choose a rank to see its log.</p>}
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

function Rank({ p, r }: { p: ProgramView; r: RankView }) {
  const late = lateFor(r);
  return (
    <section class="rank-detail" aria-label={`Rank ${r.rank}`} data-testid="rank-detail" data-rank={r.rank}>
      <h3>
        <bdi>{rankLabel(r).replace('rank', 'Rank')}</bdi>: {lookOf(RANK_LOOKS, r.state)[2].toLowerCase()}
      </h3>
      <dl class="facts-line">
        <TextFact name="host" text={r.host || '–'} />
        <Fact name="worker">
          <a href={workerAddress(r.worker)} onClick={follow}>
            <bdi>{r.worker}</bdi>
          </a>
        </Fact>
        <TextFact name="address" text={r.address || '–'} kind="mono" />
        {!!r.pid && <Fact name="process">{r.pid}</Fact>}
        {r.resources && <Fact name="resources">{resourcesOf(r.resources)}</Fact>}
        {!!r.started_ms && (
          <Fact name={r.ended_ms ? 'ran for' : 'runs for'}>
            <Span from={r.started_ms} to={r.ended_ms ?? 0} />
          </Fact>
        )}
        {stepOf(r) && <Fact name="at">{stepOf(r)}</Fact>}
        {late && (
          <Fact name="late for">
            <bdi class="text-late">{late}</bdi>
            {!!r.agent?.late_since && (
              <>
                , <Span from={r.agent.late_since} to={0} />
              </>
            )}
          </Fact>
        )}
        <TextFact name="coordination error" text={r.agent?.error} kind="text-error wrap" />
        <TextFact name="ended" text={endOf(r)} kind={r.state === 'FAILED' ? 'text-error' : ''} />
      </dl>
      <RankLog program={p.id} rank={r.rank} attempt={p.attempt} />
    </section>
  );
}
