// The panel stays at the end unless the user scrolls away.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { clock, moment, plural } from './model/format';
import { lineAt, shownLines } from './model/log';
import { slow, store } from './page';
import { crosshair, type Range } from './range';
import { choose, chosen } from './route';
import { Ansi } from './ansi';
import { Panel } from './panel';
import type { LogLine, LogTopic } from './model/log-protocol';

const COLOURS: Record<string, string> = { stderr: 'text-late', warning: 'text-late', error: 'text-error', debug: 'soft', dropped: 'soft' };
const NEAR = 24; // px; a smaller distance from the end counts as the end

interface Props {
  id: string;
  note: string;
  panel?: string; // ID of the panel, for pages with two logs
  range?: Range | null; // shows only lines of this range
}

// The line at the time of the crosshair is marked, and a line under the pointer sets the crosshair.
export function LogPanel({ id, note, panel = 'log', range = null }: Props) {
  slow.value;
  const box = useRef<HTMLDivElement>(null);
  const follow = useSignal(true);
  const wanted = chosen('log').value;
  const log = store.log(`logs:${id}` satisfies LogTopic);
  const { lines, several } = log ? shownLines(log, wanted, range) : { lines: [], several: false };
  const shown = useRef(lines);
  shown.current = lines;
  useSignalEffect(() => markLine(box.current, crosshair.value, shown.current, follow.peek()));
  useLayoutEffect(() => {
    if (follow.value && box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const kept = !log || log.known;
  const state = !log ? 'waiting for the server' : !kept ? 'not stored' : log.ended ? 'ended' : 'live';
  const aside = (
    <>
      <input
        type="search"
        aria-label="Find in the log"
        placeholder="Find in the log"
        value={wanted}
        data-testid="log-find"
        onInput={({ currentTarget }) => choose({ log: currentTarget.value }, 'replace')}
      />
      <span class="note" data-testid="log-state">
        {state}
      </span>
      {kept && (
        <button type="button" aria-pressed={follow.value} data-testid="log-follow" onClick={() => (follow.value = !follow.value)}>
          Follow
        </button>
      )}
    </>
  );
  return (
    <Panel id={panel} title={panel === 'log' ? 'Log' : 'Log of the call'} note={note} span={12} aside={aside}>
      {log?.earlier && (
        <p class="foot log-earlier">
          Earlier lines: <code class="wrap">muster logs {id}</code>
          {log.dropped > 0 && ` (${plural(log.dropped, 'line')} dropped to make room)`}
        </p>
      )}
      <div
        ref={box}
        class="log mono"
        role="log"
        aria-live="off"
        aria-label="Log lines"
        tabIndex={0}
        onScroll={({ currentTarget: at }) => {
          if (crosshair.peek() !== null) return; // the crosshair scrolls the box, not the user
          const there = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR;
          if (there !== follow.value) follow.value = there;
        }}
      >
        {lines.map((line) => (
          <Line key={line.seq} line={line} several={several} />
        ))}
        {log && lines.length === 0 && <p class="calm">{empty(log.known, log.ended, log.lines.length, range !== null)}</p>}
      </div>
      {lines.length > 0 && (
        <p class="foot">
          {plural(lines.length, 'line')} shown{range && `, ${moment(range.from)} to ${clock(range.to)}`}
        </p>
      )}
    </Panel>
  );
}

// Marks the line at a time and scrolls the box to it, unless the pointer is in the box.
function markLine(box: HTMLElement | null, at: number | null, lines: readonly LogLine[], follows: boolean): void {
  if (!box) return;
  const line = at === null ? undefined : (box.children[lineAt(lines, at)] as HTMLElement | undefined);
  box.querySelector('.is-at')?.classList.remove('is-at');
  line?.classList.add('is-at');
  if (line && !box.matches(':hover')) box.scrollTop = line.offsetTop - box.offsetTop - box.clientHeight / 2;
  else if (at === null && follows) box.scrollTop = box.scrollHeight;
}

function Line({ line, several }: { line: LogLine; several: boolean }) {
  const who = several ? `#${line.index} ${line.worker}${line.attempt > 1 ? ` (${line.attempt})` : ''}` : '';
  return (
    <div
      onPointerMove={() => (crosshair.value = line.time_ms)}
      onPointerLeave={() => (crosshair.value = null)}
      class={`log-line ${COLOURS[line.level] ?? ''}`}
      data-testid="log-line"
      data-level={line.level}
    >
      <time title={moment(line.time_ms)}>{clock(line.time_ms)}</time>
      {who && (
        <bdi class="soft" title={`closure ${line.closure}, attempt ${line.attempt} on ${line.worker}`}>
          {who}
        </bdi>
      )}
      <bdi class="log-text">{line.text ? <Ansi text={line.text} /> : ' '}</bdi>
    </div>
  );
}

function empty(known: boolean, ended: boolean, lines: number, ranged: boolean): string {
  if (!known) return 'The server no longer stores this log.';
  if (lines > 0 && ranged) return 'No line of this range matches.';
  if (lines > 0) return 'No line matches.';
  return ended ? 'Nothing was logged.' : 'Nothing logged yet.';
}
