// A page can be short or empty even if more pages follow: the server reads a limited number of rows at a time, and the
// filter may match none of them.

import { count } from './format';

export interface Page<Row> {
  rows: readonly Row[];
  next: string; // token of the next page; empty on the last page
  lookedAt: number; // number of rows that the server examined; 0 if unknown
  of: number; // number of rows without the filter
}

export interface Listing<Row> extends Page<Row> {
  more: boolean; // whether the page is not full and the next page continues it
}

const ROUNDS = 12;

// Reads until a page is full, the list ends, or the user has waited long enough.
export async function readOn<Row>(limit: number, from: string, read: (token: string) => Promise<Page<Row>>): Promise<Listing<Row>> {
  const rows: Row[] = [];
  let token = from;
  let lookedAt = 0;
  for (let round = 1; ; ++round) {
    const page = await read(token);
    // The number of rows can exceed the limit only if the server ignores the limit.
    rows.push(...page.rows);
    lookedAt += page.lookedAt;
    token = page.next;
    const full = rows.length >= limit;
    if (full || !token || round === ROUNDS || (round > 1 && rows.length * 2 >= limit)) return { rows, next: token, lookedAt, of: page.of, more: !full && token !== '' };
  }
}

export const one = (many: string): string => many.replace(/s$/, '');

// Formats as "1 to 100 of 50,000 closures" or "3 closures fit".
export function countLine<Row>({ rows, next, lookedAt, of, more }: Listing<Row>, at: number, many: string, filtered: boolean): string {
  const n = rows.length;
  const what = n === 1 && of <= 1 && at === 0 ? one(many) : many;
  if (!filtered) {
    if (n === 0) return at === 0 ? `no ${what}` : `no more ${what}`;
    const range = at === 0 && !next ? count(n) : `${count(at + 1)} to ${count(at + n)}`;
    return of > n ? `${range} of ${count(of)} ${what}` : `${range} ${what}`;
  }
  const fit =
    n === 0
      ? `no ${at > 0 ? 'more ' : ''}${what} match`
      : at === 0 && !next
        ? `${count(n)} ${n === 1 ? `${one(many)} matches` : `${many} match`}`
        : `${what} ${count(at + 1)} to ${count(at + n)} that match`;
  const among = of > 0 ? `, of ${count(of)}` : '';
  return more ? `${fit} among the ${lookedAt > 0 ? count(lookedAt) : 'those'} searched; Next continues${among && ` (${count(of)} in total)`}` : fit + among;
}
