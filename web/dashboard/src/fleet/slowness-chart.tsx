// The ratio of a worker's durations to the median of the workers, for each minute of the last hour.

import type { TaskHistory } from 'muster-rest';
import { minute, NONE } from '../shared/model/format';
import { ratioPath, slownessText } from './model/fleet';

const SLOW = 1.5; // the server calls a worker slow from this ratio on

export function SlownessChart({ of }: { of: TaskHistory }) {
  const { path, top, y } = ratioPath(of.slowness);
  const text = slownessText({ slowness: of.slowness_now, slow_since_ms: of.slow_since_ms });
  const slow = of.slow_since_ms !== undefined;
  const known = of.slowness.flatMap((ratio, n) => (ratio === null ? [] : [{ ratio, at: of.t[n]! }]));
  const most = known.reduce((a, b) => (b.ratio > a.ratio ? b : a), known[0] ?? { ratio: 0, at: 0 });
  return (
    <>
      <h3>Duration compared with the median of the workers</h3>
      <p data-testid="slowness" class={slow ? 'text-late' : ''}>
        {text === NONE ? 'Not compared: no other worker has run the same functions at least three times in the last 10 minutes.' : slow ? `${text}.` : `${text} the median, which is not slow.`}
      </p>
      {known.length > 0 && (
        <svg
          class={slow ? 'ratio is-slow' : 'ratio'}
          viewBox="0 0 100 40"
          preserveAspectRatio="none"
          role="img"
          data-testid="slowness-chart"
          aria-label={`Ratio by minute; the largest is ${most.ratio.toFixed(1)} at ${minute(most.at)}. From ${SLOW} on, a worker is slow.`}
        >
          <title>
            0 to {top.toFixed(1)} times the median; solid line: 1, dashed line: {SLOW}
          </title>
          <line x1="0" x2="100" y1={y(1)} y2={y(1)} vector-effect="non-scaling-stroke" />
          <line x1="0" x2="100" y1={y(SLOW)} y2={y(SLOW)} stroke-dasharray="4 4" vector-effect="non-scaling-stroke" />
          <path d={path} vector-effect="non-scaling-stroke" />
        </svg>
      )}
    </>
  );
}
