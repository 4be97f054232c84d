import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countLine, readOn, type Listing } from '../src/shared/model/listing';

const from = (pages: Record<string, [rows: number[], next: string]>) => {
  const asked: string[] = [];
  const read = async (token: string) => {
    asked.push(token);
    const [rows, next] = pages[token]!;
    return { rows, next, lookedAt: 100, of: 1000 };
  };
  return { asked, read };
};

test('reading stops at a full page', async () => {
  const { asked, read } = from({ '': [[1, 2], 'b'] });
  assert.deepEqual(await readOn(2, '', read), { rows: [1, 2], next: 'b', lookedAt: 100, of: 1000, more: false });
  assert.deepEqual(asked, ['']);
});

test('reading continues past short and empty pages to the end', async () => {
  const { asked, read } = from({ a: [[], 'b'], b: [[1], 'c'], c: [[], ''] });
  assert.deepEqual(await readOn(10, 'a', read), { rows: [1], next: '', lookedAt: 300, of: 1000, more: false });
  assert.deepEqual(asked, ['a', 'b', 'c']);
});

test('reading stops after a limit and reports that there may be more', async () => {
  const listing = await readOn<number>(10, '', async (token) => ({ rows: [], next: `${token}x`, lookedAt: 5, of: 1000 }));
  assert.equal(listing.more, true);
  assert.equal(listing.next.length, 12);
  assert.equal(listing.lookedAt, 60);
});

test('the count line shows the range and the total', () => {
  const listing = (n: number, more: Partial<Listing<number>> = {}): Listing<number> => ({ rows: Array<number>(n).fill(0), next: '', lookedAt: 0, of: 0, more: false, ...more });
  for (const [line, ...of] of [
    ['no closures', listing(0), 0, false],
    ['12 closures', listing(12), 0, false],
    ['1 closure', listing(1), 0, false],
    ['1 to 100 of 50,000 closures', listing(100, { next: 'x', of: 50_000 }), 0, false],
    ['101 to 150 of 150 closures', listing(50, { of: 150 }), 100, false],
    ['1 closure matches, of 50,000', listing(1, { of: 50_000 }), 0, true],
    ['3 closures match, of 50,000', listing(3, { of: 50_000 }), 0, true],
    ['closures 1 to 100 that match', listing(100, { next: 'x' }), 0, true],
    ['no closures match, of 50,000', listing(0, { of: 50_000 }), 0, true],
    ['no closures match among the 31,000 searched; Next continues (50,000 in total)', listing(0, { next: 'x', more: true, lookedAt: 31_000, of: 50_000 }), 0, true],
  ] as const)
    assert.equal(countLine(of[0], of[1], 'closures', of[2]), line);
});
