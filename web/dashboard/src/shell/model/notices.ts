// Selects new, persistent alerts that are stuck or are errors, and that were not dismissed. alerts/notices.ts uses the clock and
// the browser.

import { nameOfItem, urgencyOf } from '../../shared/model/alert-list';
import type { AttentionRow } from '../../shared/model/protocol';

export const LASTS_MS = 10_000; // alerts that last less than this are not shown
const KNOWN_MAX = 1000;

export class Notices {
  private first = new Map<string, number>(); // time of first occurrence, by name
  private told = new Set<string>(); // alerts that were shown, or existed when the page was opened

  // Marks alerts that existed when the page was opened, or appeared while it was visible.
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
