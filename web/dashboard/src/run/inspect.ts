// The selected call or rank. It is part of the address, so that a link shows the same selection.

import { choose, chosen } from '../shared/route';

export const callNow = (): string => chosen('call').value;
export const rankNow = (): number => (/^\d+$/.test(chosen('rank').value) ? Number(chosen('rank').value) : -1);

// The first selection is a step of the browser's history. Moving the selection replaces it, so that "back" closes the inspector.
export function selectCall(id: string): void {
  choose({ call: id }, callNow() && id ? 'replace' : 'push');
}
export function selectRank(rank: number): void {
  choose({ rank: rank < 0 ? '' : String(rank) }, rankNow() >= 0 && rank >= 0 ? 'replace' : 'push');
}

// Returns the neighbour at a distance, or the first row if the selection is not in the list.
export function neighbour<Row>(rows: readonly Row[], is: (row: Row) => boolean, by: number): Row | undefined {
  const at = rows.findIndex(is);
  return rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))];
}
