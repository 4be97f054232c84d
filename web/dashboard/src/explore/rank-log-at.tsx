import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { bytes } from '../shared/model/format';
import { above, mayGoBack, mayGoOn, nothingRead, parts, PIECE, withAbove, withBelow, type LogWindow } from './model/log-window';
import type { RankLog } from '../shared/model/programs';
import { Ansi } from '../shared/ansi';
import { Panel } from '../shared/panel';
import { api, get } from '../shared/rest';
import { choose, chosen } from '../shared/route';
import { Line } from './line';

// The key remounts the component for another line.
function RankLogAt({ program, rank, attempt, line }: { program: string; rank: number; attempt: number; line: number }) {
  const seen = useSignal<LogWindow>(nothingRead(line));
  const problem = useSignal('');
  const busy = useSignal(true);
  const box = useRef<HTMLDivElement>(null);
  const mark = useRef<HTMLDivElement>(null);
  const read = (offset: number, n: number) => get<RankLog>(api(`programs/${encodeURIComponent(program)}/logs`, { rank, attempt, offset: String(offset), bytes: n }));
  const add = async (...wanted: ('above' | 'below')[]) => {
    busy.value = true;
    try {
      for (const what of wanted) {
        const now = seen.peek();
        if (what === 'below') seen.value = withBelow(now, await read(now.to, PIECE));
        else if (mayGoBack(now)) {
          const height = box.current?.scrollHeight ?? 0;
          seen.value = withAbove(now, await read(...above(now)));
          grown.current = height; // keeps the visible text in place
        }
      }
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    busy.value = false;
  };
  const grown = useRef(0);
  useEffect(() => {
    void add('below', 'above').then(() => {
      document.getElementById('log-at')?.scrollIntoView({ block: 'nearest' });
      const [shown, line] = [box.current, mark.current];
      if (shown && line) shown.scrollTop += line.getBoundingClientRect().top - shown.getBoundingClientRect().top - shown.clientHeight / 3;
    });
  }, []);
  useLayoutEffect(() => {
    if (grown.current && box.current) box.current.scrollTop += box.current.scrollHeight - grown.current;
    grown.current = 0;
  }, [seen.value.before]);
  const w = seen.value;
  const { before, line: found, after } = parts(w);
  return (
    <Panel
      id="log-at"
      title={`Log of rank ${rank}, attempt ${attempt}`}
      note={w.size > 0 && `at ${bytes(line)} of ${bytes(w.size)}`}
      span={12}
      aside={
        <>
          <button type="button" data-testid="log-earlier" disabled={busy.value || !mayGoBack(w)} onClick={() => void add('above')}>
            Earlier
          </button>
          <button type="button" data-testid="log-later" disabled={busy.value || !mayGoOn(w)} onClick={() => void add('below')}>
            Later
          </button>
          <button type="button" data-testid="log-at-close" onClick={() => choose({ line: '', find: '', attempt: '' })}>
            Close
          </button>
        </>
      }
    >
      {problem.value && (
        <p class="calm text-error" role="alert">
          <bdi>{problem.value}</bdi>
        </p>
      )}
      {!w.known ? (
        <p class="calm">The worker does not have this part of the log.</p>
      ) : (
        <div ref={box} class="log mono rank-log" tabIndex={0} role="region" aria-label={`Log of rank ${rank} around the line`} data-testid="log-at">
          <bdi class="log-text">
            <Ansi text={before} />
          </bdi>
          <div ref={mark} class="is-chosen" data-testid="log-at-line">
            <Line text={found} wanted={chosen('find').value} exact={false} />
          </div>
          <bdi class="log-text">
            <Ansi text={after} />
          </bdi>
        </div>
      )}
    </Panel>
  );
}

export function LineAsked({ program, attempt: newest }: { program: string; attempt: number }) {
  const [rank, line] = [chosen('rank').value, chosen('line').value].map((text) => (/^\d{1,15}$/.test(text) ? Number(text) : -1)) as [number, number];
  const attempt = Number(chosen('attempt').value) || newest;
  if (rank < 0 || line < 0 || attempt < 1) return null;
  return <RankLogAt key={`${program} ${rank} ${attempt} ${line}`} program={program} rank={rank} attempt={attempt} line={line} />;
}
