import { keptList } from './kept';
import { clusterOf, mostUrgentFirst, nameOfItem } from './model/alert-list';
import type { AttentionRow } from './model/protocol';
import { cluster, poolOf, store } from './page';
import { picked } from './route';

const SEEN_MAX = 200;
export const seen = keptList('muster.seen', SEEN_MAX);

// Includes the alerts of the whole server.
export function items(): AttentionRow[] {
  const of = picked.value ? cluster() : undefined;
  const all = mostUrgentFirst(store.attention.all());
  return of ? all.filter((row) => clusterOf(row) === poolOf(of) || clusterOf(row) === of.name) : all;
}

export const openItems = (): AttentionRow[] => items().filter((row) => !seen.list.value.includes(nameOfItem(row)));
