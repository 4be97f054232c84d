// Stores the last five minutes, one point per second. The size is fixed, because a page can stay open for weeks.

import type { HistoryPoints } from './protocol';

const SERIES = ['queued', 'running', 'finished', 'failed', 'hb_p99'] as const;
export type Series = (typeof SERIES)[number];

export class History {
  static readonly capacity = 330; // 300 points are shown; the other points avoid a gap at the left edge
  version = 0;
  readonly seconds: number[] = []; // in seconds, as uPlot requires
  readonly series: Record<Series, number[]> = { queued: [], running: [], finished: [], failed: [], hb_p99: [] };

  clear(): void {
    this.seconds.length = 0;
    for (const name of SERIES) this.series[name].length = 0;
    ++this.version;
  }

  // The server may repeat points after a resume.
  append(points: HistoryPoints): void {
    for (let n = 0; n < points.t.length; ++n) {
      const second = points.t[n]! / 1000;
      if (second <= (this.seconds.at(-1) ?? -Infinity)) continue;
      this.seconds.push(second);
      for (const name of SERIES) this.series[name].push(points[name][n]!);
      ++this.version;
    }
    const extra = this.seconds.length - History.capacity;
    if (extra <= 0) return;
    this.seconds.splice(0, extra);
    for (const name of SERIES) this.series[name].splice(0, extra);
  }
}
