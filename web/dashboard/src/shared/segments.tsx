import type { ComponentChildren } from 'preact';

export type Option<Value> = readonly [value: Value, word: ComponentChildren, count?: string];

interface Props<Value> {
  label: string;
  options: readonly Option<Value>[];
  now: Value | null;
  choose(value: Value): void;
  testid?: string;
  wide?: boolean; // whether the buttons can fill several lines
}

export function Segments<Value extends string | number>({ label, options, now, choose, testid, wide }: Props<Value>) {
  return (
    <div class={wide ? 'segments wide' : 'segments'} role="group" aria-label={label}>
      {options.map(([value, word, count]) => (
        <button key={value} type="button" aria-pressed={value === now} data-testid={testid && `${testid}-${value || 'all'}`} onClick={() => choose(value)}>
          {word}
          {count !== undefined && <span class="soft"> {count}</span>}
        </button>
      ))}
    </div>
  );
}
