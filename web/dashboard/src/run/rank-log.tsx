import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { followed, type RankLog as Piece, type Tail } from '../shared/model/programs';
import { frozen } from '../shared/page';
import { api, get } from '../shared/rest';
import { Ansi } from '../shared/ansi';

const FIRST_BYTES = 65_536;
const EVERY_MS = 1000;
const NEAR = 24; // px; a smaller distance from the end counts as the end

// The key remounts the component for another rank or attempt.
export function RankLog({ program, rank, attempt }: { program: string; rank: number; attempt: number }) {
  const tail = useSignal<Tail | null>(null);
  const problem = useSignal('');
  const follow = useSignal(true);
  const box = useRef<HTMLDivElement>(null);
  const still = frozen.value;
  useEffect(() => {
    let left = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async () => {
      const known = tail.peek();
      const from: Record<string, string | number> = known ? { offset: known.next } : { offset: FIRST_BYTES, from_end: 'true' };
      try {
        const piece = await get<Piece>(api(`programs/${encodeURIComponent(program)}/logs`, { rank, attempt, bytes: FIRST_BYTES, ...from }));
        if (left) return;
        tail.value = followed(known, piece);
        problem.value = '';
      } catch (error) {
        if (left) return;
        problem.value = error instanceof Error ? error.message : String(error);
      }
      const now = tail.peek();
      if (!still && !now?.complete) timer = setTimeout(look, now?.behind && !problem.peek() ? 0 : EVERY_MS);
    };
    if (!tail.peek()?.complete && (!still || !tail.peek())) void look();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [still]);
  useLayoutEffect(() => {
    if (follow.value && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const now = tail.value;
  return (
    <>
      <div class="rank-log-head">
        <h3>Log</h3>
        <span class="note" data-testid="rank-log-state">
          {!now ? 'waiting for its worker' : now.complete ? 'ended' : 'live'}
          {now?.cut && ', the newest part'}
        </span>
        <button type="button" aria-pressed={follow.value} data-testid="rank-log-follow" onClick={() => (follow.value = !follow.value)}>
          Follow
        </button>
      </div>
      {problem.value && (
        <p class="calm text-error" role="status">
          <bdi>{problem.value}</bdi>
        </p>
      )}
      <div
        ref={box}
        class="log mono rank-log"
        role="log"
        aria-live="off"
        aria-label={`Log of rank ${rank}`}
        data-testid="rank-log"
        tabIndex={0}
        onScroll={({ currentTarget: at }) => {
          const there = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
          if (there !== follow.value) follow.value = there;
        }}
      >
        {now?.text ? (
          <bdi class="log-text">
            <Ansi text={now.text} />
          </bdi>
        ) : (
          now && <p class="calm">{!now.known ? 'The worker does not have this log.' : now.complete ? 'The rank printed nothing.' : 'Nothing printed yet.'}</p>
        )}
      </div>
    </>
  );
}
