// Shows a few ranks as cards, and many ranks as small cells. The grid is one tab stop; arrow keys move within it.

import { Component } from 'preact';
import { useRef } from 'preact/hooks';
import { endOf, lateFor, lookOf, RANK_LOOKS, rankLabel, resourcesOf, stepOf, stepTo, type RankView } from '../shared/model/programs';
import { Mark } from '../shared/shape';

export const CARDS_MAX = 64; // maximum number of ranks shown as cards; larger numbers of ranks are shown as small cells

const told = (r: RankView): string =>
  [
    rankLabel(r),
    lookOf(RANK_LOOKS, r.state)[2].toLowerCase(),
    r.host && `on ${r.host}`,
    resourcesOf(r.resources),
    endOf(r),
    stepOf(r),
    lateFor(r) && `late for ${lateFor(r)}`,
    r.last_line && `last line: ${r.last_line}`,
  ]
    .filter(Boolean)
    .join(', ');

interface CellProps {
  r: RankView;
  card: boolean;
  pressed: boolean;
  blocks: boolean; // whether the other ranks wait for it
  stop: boolean; // whether the Tab key stops at this cell
  choose(rank: number): void;
}

class Cell extends Component<CellProps> {
  override shouldComponentUpdate(next: CellProps): boolean {
    const { r, card, pressed, blocks, stop } = this.props;
    return next.r !== r || next.blocks !== blocks || next.card !== card || next.pressed !== pressed || next.stop !== stop;
  }

  override render({ r, card, pressed, blocks, stop }: CellProps) {
    const [shape, colour] = blocks ? (['error', 'text-error'] as const) : lookOf(RANK_LOOKS, r.state);
    const late = lateFor(r);
    const text = told(r) + (blocks ? ', blocks the others' : '');
    return (
      <button
        type="button"
        class={`rank is-${shape}-rank${late ? ' is-late-rank' : ''}`}
        aria-pressed={pressed}
        aria-label={text}
        title={text}
        tabIndex={stop ? 0 : -1}
        data-testid="rank"
        data-rank={r.rank}
        data-state={r.state}
        data-late={late || undefined}
        onClick={() => this.props.choose(r.rank)}
      >
        <span class={`rank-head ${colour}`}>
          <Mark shape={late ? 'late' : shape} /> {card ? <b class="clip">{rankLabel(r)}</b> : r.rank}
          {card && <span class="rank-has clip soft">{resourcesOf(r.resources)}</span>}
        </span>
        {card && (
          <>
            <span class="rank-pair">
              <bdi class="clip soft">{r.host || '–'}</bdi>
              <bdi class={`clip ${late ? 'text-late' : ''}`}>{(blocks && 'blocks the others') || endOf(r) || late || (r.step !== undefined && `step ${r.step}`)}</bdi>
            </span>
            <bdi class="clip mono rank-line" data-testid="rank-line">
              {r.last_line ?? '\u00a0'}
            </bdi>
          </>
        )}
      </button>
    );
  }
}

export function RankGrid({ ranks, card, at, blocks = -1, choose }: { ranks: readonly RankView[]; card: boolean; at: number; blocks?: number | undefined; choose(rank: number): void }) {
  const box = useRef<HTMLDivElement>(null);
  const chosen = useRef(choose); // because cells that are not redrawn must call the newest function
  chosen.current = choose;
  const call = useRef((rank: number) => chosen.current(rank));
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
    <div ref={box} class={card ? 'ranks' : 'ranks is-dense'} role="group" aria-label="Ranks" data-testid="ranks" onKeyDown={onKey}>
      {ranks.map((r) => (
        <Cell key={r.rank} r={r} card={card} pressed={r.rank === at} blocks={r.rank === blocks} stop={r.rank === stop} choose={call.current} />
      ))}
    </div>
  );
}
