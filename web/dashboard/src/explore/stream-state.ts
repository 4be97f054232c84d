// In follow mode, the range ends at the current time. The address is updated slightly later, so that a drag does not update it
// sixty times a second.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { presetOf, rangeOf } from './model/range';
import type { Stream } from './model/stream';
import { clamped, MAX_SPAN, MIN_SPAN, panned, spanOf, zoomed, type View } from '../shared/model/time-view';
import { viewNow } from '../shared/page';
import { choose, chosen } from '../shared/route';

const SPAN_MS = 60_000;
const WRITE_MS = 250;
const AHEAD = 0.03; // fraction of the span that lies after the current time

export type Looking = { follow: true; span: number } | { follow: false; view: View };
export const looking = signal<Looking>({ follow: true, span: SPAN_MS });

// Changes only after a move has ended.
export const settled = signal<Looking>(looking.peek());

export function currentView(): View {
  const at = looking.peek();
  if (!at.follow) return at.view;
  const to = viewNow() + at.span * AHEAD;
  return { from: to - at.span, to };
}

// Bars of running closures extend to the current time, but not far beyond the server's last response.
export function liveEnd(stream: Stream): number {
  return Math.min(viewNow(), stream.now + 5000);
}

let timer: ReturnType<typeof setTimeout> | undefined;
let written = '';

function set(next: Looking): void {
  looking.value = next;
  clearTimeout(timer);
  timer = setTimeout(() => {
    settled.value = next;
    const says = inAddress(next);
    written = JSON.stringify(says);
    choose(says, 'replace');
  }, WRITE_MS);
}

function inAddress(at: Looking): Record<'from' | 'to' | 'span', string> {
  if (!at.follow) return { from: String(Math.round(at.view.from)), to: String(Math.round(at.view.to)), span: '' };
  const preset = presetOf(at.span);
  return { from: preset, to: '', span: preset || at.span === SPAN_MS ? '' : String(Math.round(at.span)) };
}

// A range without a begin or an end gets an end at the current time, or the longest span.
function fromAddress(from: string, to: string, span: string): Looking {
  const range = rangeOf(from, to);
  const end = range.to || viewNow();
  const view = { from: range.from || end - MAX_SPAN, to: end };
  if ((range.from || range.to) && view.from < view.to) return { follow: false, view: clamped(view, Number.MAX_SAFE_INTEGER) };
  const wish = range.last || Number(span);
  return { follow: true, span: wish > 0 ? Math.min(MAX_SPAN, Math.max(MIN_SPAN, wish)) : SPAN_MS };
}

// While the page is shown, the address sets the range, unless this code wrote it. `otherwise` is used if the address contains no
// range.
export function useLooking(otherwise?: Looking): void {
  const says = { from: chosen('from').value, to: chosen('to').value, span: chosen('span').value };
  const text = JSON.stringify(says);
  useEffect(() => {
    if (text !== written) settled.value = looking.value = otherwise && !says.from && !says.span ? otherwise : fromAddress(says.from, says.to, says.span);
    written = '';
  }, [text]);
  useEffect(() => () => clearTimeout(timer), []);
}

// A factor below 1 zooms in. In follow mode, the current time stays in place.
export function zoom(factor: number, at?: number): void {
  const now = looking.peek();
  if (now.follow) set({ follow: true, span: Math.min(MAX_SPAN, Math.max(MIN_SPAN, now.span * factor)) });
  else set({ follow: false, view: zoomed(now.view, factor, at ?? (now.view.from + now.view.to) / 2, viewNow()) });
}

export function pan(share: number): void {
  const view = currentView();
  set({ follow: false, view: panned(view, share * spanOf(view), viewNow()) });
}

export function show(view: View): void {
  set({ follow: false, view: clamped(view, viewNow()) });
}

// Returns the range in the address, or null if the address has none.
export function rangeShown(): View | null {
  const [from, to] = [Number(chosen('from').value), Number(chosen('to').value)];
  return from && to && from < to ? { from, to } : null;
}

export function showRange(range: View | null): void {
  if (range) show(range);
  else choose({ from: '', to: '', span: '' }, 'replace');
}

export function setFollow(on: boolean): void {
  set(on ? { follow: true, span: spanOf(currentView()) } : { follow: false, view: currentView() });
}

export function setSpan(span: number): void {
  const now = looking.peek();
  if (now.follow) set({ follow: true, span });
  else {
    const middle = (now.view.from + now.view.to) / 2;
    show({ from: middle - span / 2, to: middle + span / 2 });
  }
}
