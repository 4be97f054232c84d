// A bar of parts. Hidden from screen readers, because text next to it shows the numbers.

import type { Counts } from '../model/rest/views';

export interface Part {
  kind: string; // CSS class of the part, which sets its colour
  n: number;
}

// Closures by state; waiting closures can be omitted.
export const partsOf = (of: Pick<Counts, 'succeeded' | 'running' | 'failed' | 'cancelled'>, waiting = 0): Part[] => [
  { kind: 'done', n: of.succeeded },
  { kind: 'running', n: of.running },
  { kind: 'failed', n: of.failed },
  { kind: 'cancelled', n: of.cancelled },
  { kind: 'queued', n: waiting },
];

export function Bar({ parts, total }: { parts: Part[]; total: number }) {
  const seen = parts.filter((part) => part.n > 0);
  return (
    <div class="bar" aria-hidden="true">
      {seen.map((part) => (
        // A few closures among millions would be thinner than a pixel, so each part has a minimum width (min-width in
        // the CSS).
        <i key={part.kind} class={`part-${part.kind}`} style={{ flexBasis: `${(100 * part.n) / Math.max(1, total)}%` }} />
      ))}
    </div>
  );
}
