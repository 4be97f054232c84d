import { count } from '../shared/model/format';
import type { TaskHistory } from 'muster-rest';
import { minuteBars } from './model/worker';
import { useLooked } from '../shared/looked';
import { api } from '../shared/rest';
import { crosshair } from '../shared/range';
import { Panel } from '../shared/panel';
import { SlownessChart } from './slowness-chart';

export function LastHour({ path, slots }: { path: string; slots: number }) {
  const looked = useLooked<TaskHistory>(api(`${path}/history`), { every: 20_000 });
  if (!looked.value || looked.value.t.length === 0) return null;
  const { bars, most, sentence } = minuteBars(looked.value, slots);
  const width = 10;
  const { t, step_ms } = looked.value;
  const x = crosshair.value === null ? -1 : ((crosshair.value - t[0]!) / step_ms) * width;
  const point = (e: PointerEvent) => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    crosshair.value = t[0]! + ((e.clientX - r.left) / r.width) * t.length * step_ms;
  };
  return (
    <Panel id="hour" title="Last hour" note="one bar per minute: succeeded and failed; line below: share of busy time" span={12} aside={<span class="note">at most {count(most)} per minute</span>}>
      <svg
        class="minutes"
        viewBox={`0 0 ${bars.length * width} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={sentence}
        data-testid="hour-chart"
        onPointerMove={point}
        onPointerLeave={() => (crosshair.value = null)}
      >
        {bars.map((bar, n) => (
          <g key={n}>
            <title>{bar.title}</title>
            <rect x={n * width} y={0} width={width} height={100} fill="transparent" />
            <rect x={n * width + 1} y={80 - 80 * (bar.succeeded + bar.failed)} width={width - 2} height={80 * bar.succeeded} class="fill-done" />
            <rect x={n * width + 1} y={80 - 80 * bar.failed} width={width - 2} height={80 * bar.failed} class="fill-error" />
            <rect x={n * width + 1} y={100 - 16 * bar.busy} width={width - 2} height={16 * bar.busy} class="fill-busy" />
          </g>
        ))}
        {x >= 0 && x <= bars.length * width && <line x1={x} x2={x} y1={0} y2={100} stroke="var(--text)" vector-effect="non-scaling-stroke" />}
      </svg>
      <p class="foot">{sentence}</p>
      <SlownessChart of={looked.value} />
    </Panel>
  );
}
