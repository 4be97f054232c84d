// Which alerts are worth a notice of the browser: new ones that stand still or are errors, that last, and were not put
// aside. Pure; alerts/notices.ts has the clock and the browser.

import { nameOfItem, urgencyOf } from './alert-list';
import type { AttentionRow } from './protocol';

export const LASTS_MS = 10_000; // what goes sooner is no news
const KNOWN_MAX = 1000; // names

export class Notices {
  private first = new Map<string, number>(); // by name: since when it is there, and…
  private told = new Set<string>(); // …those that were told, or were there before

  // What was there when the page came, or while somebody looked at it, is known.
  known(rows: readonly AttentionRow[]): void {
    for (const row of rows) this.told.add(nameOfItem(row));
    this.first.clear();
    while (this.told.size > KNOWN_MAX) this.told.delete(this.told.values().next().value!);
  }

  due(rows: readonly AttentionRow[], seen: readonly string[], now: number): AttentionRow[] {
    const here = new Map(rows.filter((row) => row.severity === 'error' || urgencyOf(row) === 'stuck').map((row) => [nameOfItem(row), row]));
    for (const name of this.first.keys()) if (!here.has(name)) this.first.delete(name);
    const due: AttentionRow[] = [];
    for (const [name, row] of here) {
      if (this.told.has(name) || seen.includes(name)) continue;
      if (!this.first.has(name)) this.first.set(name, now);
      if (now - this.first.get(name)! >= LASTS_MS) due.push(row);
    }
    for (const row of due) this.told.add(nameOfItem(row));
    return due;
  }
}
