// The timeline of a run: a lane for each rank, drawn on one canvas; what is under the crosshair stands beneath as text.

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { age, moment } from '../model/format';
import type { AttemptView, RankView } from '../model/rest/programs';
import { lookAt, runTimeline, summary, zoomed, type Range } from '../model/run-timeline';
import { slow, viewNow } from '../page';
import { color, repaint } from '../theme';
import { Panel } from '../parts/panel';

const HEIGHT_MAX = 384; // pixels that all lanes share

export function RunTimelinePanel({ attempts, ranks }: { attempts: readonly AttemptView[]; ranks: readonly RankView[] }) {
  slow.value;
  const canvas = useRef<HTMLCanvasElement>(null);
  const part = useSignal<Range | null>(null); // null: the whole run
  const cross = useSignal<{ x: number; lane: number } | null>(null); // x: a fraction of the width
  const drag = useSignal<number | null>(null); // where it began
  const t = runTimeline(attempts, ranks, viewNow());
  const view = part.value ?? t;
  const each = Math.max(1, Math.min(14, Math.floor(HEIGHT_MAX / Math.max(1, t.lanes.length))));
  const height = Math.max(24, each * t.lanes.length);
  const shown = repaint.value;
  const { x, lane } = cross.value ?? { x: -1, lane: 0 };
  const began = drag.value;

  useEffect(() => {
    const c = canvas.current;
    const g = c?.getContext('2d');
    if (!c || !g) return;
    const ratio = devicePixelRatio || 1;
    const width = c.clientWidth;
    c.width = width * ratio;
    c.height = height * ratio;
    g.scale(ratio, ratio);
    const at = (ms: number) => ((ms - view.from) / (view.to - view.from)) * width;
    const box = (from: number, to: number, y: number, h: number) => g.fillRect(at(from), y, Math.max(1, at(to) - at(from)), h);
    g.fillStyle = color('track');
    g.fillRect(0, 0, width, height);
    g.fillStyle = color('error-bg');
    for (const s of t.gaps) box(s.from, s.to, 0, height);
    for (const s of t.spans) {
      g.fillStyle = color(s.colour);
      box(s.from, s.to, s.lane * each, each > 3 ? each - 1 : each);
    }
    for (const m of t.marks) {
      g.fillStyle = color('error-text');
      g.fillRect(at(m.at) - 1, 0, 1, height);
      g.fillRect(at(m.at) - 3, Math.max(0, m.lane) * each, 5, m.lane < 0 ? height : Math.max(3, each));
    }
    g.fillStyle = color('text');
    if (x >= 0) g.fillRect(x * width, 0, 1, height);
    if (began !== null && x >= 0) {
      g.globalAlpha = 0.2;
      g.fillRect(Math.min(began, x) * width, 0, Math.abs(x - began) * width, height);
      g.globalAlpha = 1;
    }
  });

  const where = (e: PointerEvent) => {
    const r = canvas.current!.getBoundingClientRect();
    const fraction = Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
    cross.value = { x: fraction, lane: Math.min(t.lanes.length - 1, Math.max(0, Math.floor((e.clientY - r.top) / each))) };
    return fraction;
  };
  const zoom = (begin: number, end: number) => (part.value = zoomed(view, begin, end, t));
  const reset = () => (part.value = null);
  const key = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = (dx: number, dy: number) => (cross.value = { x: Math.min(1, Math.max(0, (x < 0 ? 0.5 : x) + dx)), lane: Math.min(t.lanes.length - 1, Math.max(0, lane + dy)) });
    const middle = x < 0 ? 0.5 : x;
    if (e.key === 'ArrowLeft') step(-0.02, 0);
    else if (e.key === 'ArrowRight') step(0.02, 0);
    else if (e.key === 'ArrowUp') step(0, -1);
    else if (e.key === 'ArrowDown') step(0, 1);
    else if (e.key === '+') zoom(middle - 0.25, middle + 0.25);
    else if (e.key === '-') zoom(middle - 1, middle + 1);
    else if (e.key === '0') reset();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  if (t.lanes.length === 0) return null;
  const time = view.from + x * (view.to - view.from);
  return (
    <Panel
      id="run"
      title="Timeline"
      note={summary(t, attempts.length)}
      span={12}
      aside={
        <button type="button" data-testid="run-reset" disabled={!part.value} onClick={reset}>
          Whole run
        </button>
      }
    >
      <div data-testid="run-timeline" data-gaps={t.gaps.length} data-marks={t.marks.length} data-from={view.from} data-to={view.to} data-painted={shown} role="group" tabIndex={0} aria-label="Timeline of ranks. Arrows move the crosshair, plus and minus zoom, 0 shows the whole run." onKeyDown={key}>
        <canvas
          ref={canvas}
          aria-hidden="true"
          data-testid="run-canvas"
          style={{ display: 'block', width: '100%', height: `${height}px`, cursor: 'crosshair', touchAction: 'pan-y' }}
          onPointerDown={(e) => {
            drag.value = where(e);
            canvas.current!.setPointerCapture(e.pointerId);
          }}
          onPointerMove={where}
          onPointerUp={(e) => {
            const end = where(e);
            if (began !== null && Math.abs(end - began) > 0.01) zoom(Math.min(began, end), Math.max(began, end));
            drag.value = null;
          }}
          onPointerCancel={() => (drag.value = null)}
          onPointerLeave={() => (cross.value = null)}
        />
      </div>
      <p class="soft wrap" data-testid="run-at" aria-live="polite">
        <bdi>{x < 0 ? `${moment(view.from)} to ${moment(view.to)} (${age(view.to - view.from)}). Drag to zoom.${attempts.length > 1 ? ' Of earlier attempts the times of the whole are shown, not of each rank.' : ''}` : `${moment(time)} · ${lookAt(t, lane, time, (view.to - view.from) / 100)}`}</bdi>
      </p>
    </Panel>
  );
}
