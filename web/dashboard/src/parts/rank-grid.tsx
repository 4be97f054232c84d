// The ranks of a program, a cell each: few as cards, many as small cells. One stop of the tab key; arrows walk.

import { useRef } from 'preact/hooks';
import { endOf, lookOf, RANK_LOOKS, resourcesOf, stepTo, type RankView } from '../model/rest/programs';
import { Mark } from './shape';

const CARDS_MAX = 64; // more are small cells

const told = (r: RankView): string => [`rank ${r.rank}`, r.task, lookOf(RANK_LOOKS, r.state)[2].toLowerCase(), r.host && `on ${r.host}`, resourcesOf(r.resources), endOf(r)].filter(Boolean).join(', ');

export function RankGrid({ ranks, at, choose }: { ranks: readonly RankView[]; at: number; choose(rank: number): void }) {
  const box = useRef<HTMLDivElement>(null);
  const cards = ranks.length <= CARDS_MAX;
  const onKey = (event: KeyboardEvent) => {
    const cells = [...box.current!.children] as HTMLElement[];
    const now = cells.indexOf(document.activeElement as HTMLElement);
    const across = cells.filter((cell) => cell.offsetTop === cells[0]!.offsetTop).length;
    const to = now < 0 ? null : stepTo(event.key, now, cells.length, across);
    if (to === null) return;
    event.preventDefault();
    cells[to]!.focus();
  };
  const stop = ranks.some((r) => r.rank === at) ? at : (ranks[0]?.rank ?? 0);
  return (
    <div ref={box} class={cards ? 'ranks' : 'ranks is-dense'} role="group" aria-label="Ranks" data-testid="ranks" onKeyDown={onKey}>
      {ranks.map((r) => {
        const [shape, colour] = lookOf(RANK_LOOKS, r.state);
        return (
          <button
            key={r.rank}
            type="button"
            class={`rank is-${shape}-rank`}
            aria-pressed={r.rank === at}
            aria-label={told(r)}
            title={told(r)}
            tabIndex={r.rank === stop ? 0 : -1}
            data-testid="rank"
            data-rank={r.rank}
            data-state={r.state}
            onClick={() => choose(r.rank)}
          >
            <span class={`rank-head ${colour}`}>
              <Mark shape={shape} /> {cards ? <b>{r.task}</b> : r.rank}
            </span>
            {cards && (
              <>
                <bdi class="clip">{r.host || '–'}</bdi>
                <bdi class="clip soft">{endOf(r) || resourcesOf(r.resources) || `rank ${r.rank}`}</bdi>
              </>
            )}
          </button>
        );
      })}
    </div>
  );
}
