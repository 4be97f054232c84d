// The query and the time range of the pages under Explore. The address contains both, and the tabs keep them.

import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { boundsOf, fieldOf, PRESETS, rangeOf, timeOf, type Range } from './model/range';
import { Find } from '../shared/find';
import { filter } from '../shared/listing';
import { moment } from '../shared/model/format';
import { viewNow } from '../shared/page';
import { chosen, page } from '../shared/route';
import { Segments } from '../shared/segments';
import { zone } from '../shared/zone';

// Until the server's time is known, the browser's time is used.
export const rangeClock = (): number => viewNow() || Date.now();

// Older addresses of the log search contain `since`.
export const rangeNow = (): Range => rangeOf(chosen('from').value || (chosen('to').value ? '' : chosen('since').value), chosen('to').value);

// Sets the range, for example after a drag in a chart.
export function setRange(from: number, to: number): void {
  filter({ from: from > 0 ? String(Math.floor(from)) : '', to: to > 0 ? String(Math.ceil(to)) : '', since: '', span: '' });
}

interface Props {
  why?: string | undefined; // one sentence if the page does not use the range
  children?: ComponentChildren; // further filters
}

export function ExploreBar({ why, children }: Props) {
  const range = rangeNow();
  const { from, to } = boundsOf(range, rangeClock());
  const text = chosen('from').value || chosen('since').value;
  const preset = range.last > 0 ? (PRESETS.find(([name]) => name === text)?.[0] ?? null) : from || to ? null : '';
  zone.value;
  return (
    <search class="explore-bar span-12" aria-label="Query and time range" data-testid="explore-bar">
      <Find words={page.value.find ?? 'Find'} />
      <Segments label="Time range" options={PRESETS} now={preset} testid="range" choose={(name) => filter({ from: name, to: '', since: '', span: '' })} />
      <TimeField label="From" name="from" ms={range.last > 0 ? 0 : range.from} />
      <TimeField label="To" name="to" ms={range.to} />
      {children}
      {why && (
        <p class="note" data-testid="range-why">
          {why}
        </p>
      )}
    </search>
  );
}

function TimeField({ label, name, ms }: { label: string; name: 'from' | 'to'; ms: number }) {
  const wrong = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const shown = fieldOf(ms, rangeClock());
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = shown;
  }, [shown]);
  const take = (text: string) => {
    const at = text.trim() === '' ? 0 : timeOf(text, rangeClock());
    wrong.value = at === null;
    if (at === null || at === ms) return;
    const { from, to } = rangeNow().last > 0 ? { from: 0, to: 0 } : rangeNow();
    const next = name === 'from' ? { from: at, to: to > at || at === 0 ? to : 0 } : { from: from < at || at === 0 ? from : 0, to: at };
    setRange(next.from, next.to);
  };
  return (
    <label class="field range-field">
      <span>{label}</span>
      <input
        ref={input}
        type="text"
        inputMode="text"
        placeholder="17:05"
        defaultValue={shown}
        title={ms > 0 ? moment(ms) : 'A time such as 17:05, or 2026-11-30 17:05'}
        aria-invalid={wrong.value}
        data-testid={`range-${name}`}
        onChange={(event) => take(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Enter' && take(event.currentTarget.value)}
      />
      {wrong.value && (
        <span class="text-error" role="alert">
          Enter a time such as 17:05.
        </span>
      )}
    </label>
  );
}
