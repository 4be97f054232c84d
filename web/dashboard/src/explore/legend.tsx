import { useMemo } from 'preact/hooks';
import { HUES, hueNumbers, OTHER } from '../shared/model/function-hue';
import { count, plural } from '../shared/model/format';
import type { Stream } from './model/stream';
import { store } from '../shared/page';

export function useHues(stream: Stream): Uint8Array {
  const known = store.counters?.functions ?? [];
  return useMemo(() => {
    const numbers = hueNumbers(known);
    return Uint8Array.from(stream.functions, (name) => numbers.get(name) ?? OTHER);
  }, [known.map((f) => f.name).join('\n'), stream.functions.length]);
}

const SHAPES = [
  ['sum', 'sum of short closures'],
  ['running', 'running'],
  ['failed', 'failed'],
  ['lost', 'lost with its worker'],
  ['cancelled', 'cancelled'],
] as const;

const LEGEND_MAX = 24;

export function Legend({ stream, hues }: { stream: Stream; hues: Uint8Array }) {
  const named = stream.functions
    .map((name, n) => [name, hues[n] ?? OTHER] as const)
    .filter(([, hue]) => hue !== OTHER)
    .slice(0, LEGEND_MAX);
  const others = stream.functions.length - named.length;
  return (
    <ul class="legend" data-testid="stream-legend">
      {named
        .sort(([, a], [, b]) => a - b)
        .map(([name, hue]) => (
          <li key={name}>
            <i class={`swatch part-${HUES[hue]}`} /> <bdi class="mono">{name}</bdi>
          </li>
        ))}
      {others > 0 && (
        <li>
          <i class="swatch part-other" /> {named.length > 0 ? `${count(others)} other` : plural(others, 'function')}
        </li>
      )}
      {SHAPES.map(([shape, word]) => (
        <li key={shape} class="soft">
          <i class={`swatch-shape shape-${shape}`} /> {word}
        </li>
      ))}
    </ul>
  );
}
