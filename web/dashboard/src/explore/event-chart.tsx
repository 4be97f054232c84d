// Number of events over time, by severity. A drag chooses the time range.

import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { histogram, type Step } from './model/event-filter';
import { boundsOf, type Range } from './model/range';
import { rangeClock, setRange } from './bar';
import { clock, plural } from '../shared/model/format';
import type { EventRow } from '../shared/model/protocol';

const STEPS = 120;
const HEIGHT = 44;
const DRAG_PX = 4; // shorter movements are clicks

const totalOf = (s: Step): number => s.info + s.warning + s.error;

export function EventChart({ events, range }: { events: readonly EventRow[]; range: Range }) {
  const box = useRef<SVGSVGElement>(null);
  const drag = useSignal<{ a: number; b: number } | null>(null);
  if (events.length < 2) return null;
  const bounds = boundsOf(range, rangeClock());
  const times = events.map((e) => e.time_ms);
  const from = bounds.from || times.reduce((a, b) => Math.min(a, b));
  const to = Math.max(from + 1000, bounds.to || rangeClock());
  const steps = histogram(events, from, to, STEPS);
  const most = Math.max(...steps.map(totalOf));
  const share = (event: PointerEvent) => {
    const { left, width } = box.current!.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / width));
  };
  const end = () => {
    const d = drag.value;
    drag.value = null;
    if (!d || Math.abs(d.b - d.a) * box.current!.getBoundingClientRect().width < DRAG_PX) return;
    setRange(from + Math.min(d.a, d.b) * (to - from), from + Math.max(d.a, d.b) * (to - from));
  };
  return (
    <figure class="event-chart">
      <svg
        ref={box}
        viewBox={`0 0 ${STEPS} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${plural(events.length, 'event')} from ${clock(from)} to ${clock(to)}, at most ${most} at one time. To choose a range by keyboard, use the fields From and To.`}
        data-testid="event-chart"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.value = { a: share(event), b: share(event) };
        }}
        onPointerMove={(event) => {
          if (drag.value) drag.value = { ...drag.value, b: share(event) };
        }}
        onPointerUp={end}
        onPointerCancel={() => (drag.value = null)}
      >
        {steps.map((s, n) => {
          if (totalOf(s) === 0) return null;
          const scale = (count: number) => (count / most) * (HEIGHT - 2);
          const [e, w, i] = [scale(s.error), scale(s.warning), scale(s.info)];
          return (
            <g key={s.from}>
              <rect x={n} width={0.8} y={HEIGHT - e} height={e} class="event-error" />
              <rect x={n} width={0.8} y={HEIGHT - e - w} height={w} class="event-warning" />
              <rect x={n} width={0.8} y={HEIGHT - e - w - i} height={i} class="event-info" />
            </g>
          );
        })}
        {drag.value && <rect class="event-drag" x={Math.min(drag.value.a, drag.value.b) * STEPS} width={Math.abs(drag.value.b - drag.value.a) * STEPS} y={0} height={HEIGHT} />}
      </svg>
      <figcaption class="note">
        <span>{clock(from)}</span>
        <span>drag to choose a range</span>
        <span>{clock(to)}</span>
      </figcaption>
    </figure>
  );
}
