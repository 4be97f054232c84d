import type { TaskHistory } from 'muster-rest';
import { sumOf } from '../../shared/model/counts';
import { age, count, minute, percent, plural } from '../../shared/model/format';
import type { WorkerView } from '../../shared/model/views';

export interface Use {
  name: string;
  used: number;
  total: number;
}

// Returns the worker's resource usage; slots come first.
export function uses(w: WorkerView): Use[] {
  const slots = { name: 'slots', used: Math.min(w.running, w.slots), total: w.slots };
  const named = Object.entries(w.resources ?? {}).map(([name, { total, free }]) => ({ name, used: free === undefined ? 0 : total - free, total }));
  return [slots, ...named.sort((a, b) => (a.name < b.name ? -1 : 1))];
}

// Returns every problem of the worker, most severe first.
export function standing(w: WorkerView): { word: string; why: string; kind: 'error' | 'late' | 'disconnected' }[] {
  const all: { word: string; why: string; kind: 'error' | 'late' | 'disconnected' }[] = [];
  if (w.error) all.push({ word: w.state === 'ERROR' ? 'in error' : 'had an error', why: w.error, kind: w.state === 'ERROR' ? 'error' : 'disconnected' });
  if (w.away) all.push({ word: 'away', why: 'the connection broke; if the worker does not reconnect soon, its closures will be requeued', kind: 'late' });
  if (w.draining) all.push({ word: 'draining', why: 'the worker finishes its running closures and then exits', kind: 'late' });
  if (w.cordoned) all.push({ word: 'cordoned', why: 'the worker receives no new closures until it is uncordoned, even after a restart', kind: 'late' });
  return all;
}

export interface MinuteBar {
  succeeded: number; // fraction (0 to 1) of the tallest bar's height
  failed: number;
  busy: number; // busy fraction of all slots
  title: string;
}

export type MinuteColumns = Pick<TaskHistory, 'step_ms' | 't' | 'finished' | 'failed' | 'busy_ms'>;

export function minuteBars(h: MinuteColumns, slots: number): { bars: MinuteBar[]; most: number; sentence: string } {
  const ended = h.t.map((_, n) => h.finished[n] ?? 0);
  const most = Math.max(1, ...ended);
  const bars = h.t.map((t, n) => {
    const busy = Math.min(1, (h.busy_ms[n] ?? 0) / Math.max(1, h.step_ms * Math.max(1, slots)));
    const failed = h.failed[n] ?? 0;
    return {
      succeeded: Math.max(0, ended[n]! - failed) / most,
      failed: failed / most,
      busy,
      title: `${minute(t)}: ${plural(ended[n]!, 'execution')}${failed ? `, ${count(failed)} of them failed` : ''}, ${percent(busy, 1)} busy`,
    };
  });
  const busy = sumOf(bars.map((bar) => bar.busy));
  return {
    bars,
    most,
    sentence: `${plural(sumOf(ended), 'execution')} ended in the last ${age(h.t.length * h.step_ms)}, ${count(sumOf(h.failed))} of them failed; busy ${percent(busy, bars.length)} of the time.`,
  };
}
