// The bar is hidden from screen readers, because the text next to it contains the numbers.

import type { Counts } from './model/views';

export interface Part {
  kind: string; // CSS class, which sets the colour
  n: number;
}

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
        // A minimum width (CSS) keeps a few closures among millions visible.
        <i key={part.kind} class={`part-${part.kind}`} style={{ flexBasis: `${(100 * part.n) / Math.max(1, total)}%` }} />
      ))}
    </div>
  );
}
