import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gather, isAsked, LINES_MAX, nothingFound, pieces, sizeOf, sourcesOf, type Found, type LogMatches, type RankLine, type Wanted } from '../../src/explore/model/log-search';

const nothing: Wanted = { text: '', exact: false, where: '', cluster: 'c', job: '', program: '', rank: '', attempt: '', from: 0, to: 0 };
const programs = Array.from({ length: 12 }, (_, n) => ({ id: `prog_${n}`, name: `p${n}` }));

test('a search needs a text, a subject or a time', () => {
  assert.equal(isAsked(nothing), false);
  for (const one of [{ text: 'a' }, { job: 'j' }, { program: 'p' }, { from: 1 }, { to: 1 }]) assert.equal(isAsked({ ...nothing, ...one }), true);
});

test('text is searched in closures and the newest programs, ignoring case by default', () => {
  const all = sourcesOf({ ...nothing, text: 'NaN' }, [], programs);
  assert.deepEqual(
    all.map((s) => s.key),
    ['closures', ...programs.slice(0, 8).map((p) => p.id)],
  );
  assert.deepEqual(all[0]!.query, { text: 'NaN', ignore_case: 'true', cluster: 'c', from_ms: '', to_ms: '' });
  assert.deepEqual(all[1]!.query, { text: 'NaN', ignore_case: 'true', program: 'prog_0', rank: '', attempt: '' });
  assert.equal('ignore_case' in sourcesOf({ ...nothing, text: 'NaN', exact: true }, [], [])[0]!.query, false);
});

test('a time or job excludes programs, and a program or rank excludes closures', () => {
  const keys = (w: Partial<Wanted>) => sourcesOf({ ...nothing, text: 'a', ...w }, [{ id: 'job_1', name: 'x' }], programs.slice(0, 1)).map((s) => s.key);
  assert.deepEqual(keys({ from: 1 }), ['closures']);
  assert.deepEqual(keys({ job: 'x' }), ['job_1']);
  assert.deepEqual(keys({ program: 'p0' }), ['prog_0']);
  assert.deepEqual(keys({ rank: '3' }), ['prog_0']);
  assert.deepEqual(keys({ where: 'closures' }), ['closures']);
  assert.deepEqual(keys({ where: 'programs' }), ['prog_0']);
  assert.deepEqual(keys({ where: 'programs', from: 1 }), []);
});

const line = (n: number): RankLine => ({ rank: n, attempt: 1, task: 'worker:0', offset: n, text: '' });
const page = (n: number, next: string, more: Partial<LogMatches> = {}): LogMatches => ({
  lines: [],
  rank_lines: Array.from({ length: n }, (_, k) => line(k)),
  ...(next && { next_page_token: next }),
  ...more,
});

test('reading continues past empty pages from its last position', async () => {
  const asked: string[] = [];
  const answers = [page(0, 'a'), page(3, 'b', { unread: ['rank 7: away'] }), page(100, 'c', { unread: ['rank 7: away'] })];
  const read = async (token: string) => {
    asked.push(token);
    return answers.shift() ?? page(1, '');
  };
  const told: Found[] = [];
  const first = await gather(nothingFound, read, (now) => told.push(now));
  assert.deepEqual(asked, ['', 'a', 'b']);
  assert.deepEqual([sizeOf(first), first.next, first.state, first.unread], [103, 'c', 'done', ['rank 7: away']]);
  assert.deepEqual(
    told.map((f) => [f.state, sizeOf(f)]),
    [
      ['reads', 0],
      ['reads', 0],
      ['reads', 3],
      ['done', 103],
    ],
  );
  const rest = await gather(first, read, () => {});
  assert.deepEqual([sizeOf(rest), rest.next], [104, '']);
});

test('a search ends at a page limit, a line limit, or a reported refusal', async () => {
  let n = 0;
  const some = await gather(
    nothingFound,
    async () => {
      ++n;
      return page(0, 'more');
    },
    () => {},
  );
  assert.deepEqual([n, some.next, some.state], [20, 'more', 'done']);
  let all = nothingFound;
  for (n = 0; n < 100 && sizeOf(all) < LINES_MAX; ++n)
    all = await gather(
      all,
      async () => page(500, 'more'),
      () => {},
    );
  assert.equal(sizeOf(all), LINES_MAX);
  const refused = await gather(
    some,
    async () => Promise.reject(new Error('keeps no history')),
    () => {},
  );
  assert.deepEqual([refused.problem, refused.state, refused.next], ['keeps no history', 'done', 'more']);
});

test('matches are highlighted without terminal codes, and long lines are cut around them', () => {
  const read = (text: string, wanted: string, exact = false) =>
    pieces(text, wanted, exact)
      .map((p) => (p.marked ? `[${p.text}]` : p.text))
      .join('');
  assert.equal(read('loss is \x1b[31mNaN\x1b[0m, nan', 'nan'), 'loss is [NaN], [nan]');
  assert.equal(read('loss is NaN, nan', 'nan', true), 'loss is NaN, [nan]');
  assert.equal(read('İstanbul NaN', 'nan'), 'İstanbul [NaN]'); // letters whose lower case is longer do not shift the match
  assert.equal(read('all is well', ''), 'all is well');
  const long = read(`${'x'.repeat(5000)}NaN${'y'.repeat(5000)}`, 'nan');
  assert.match(long, /^…x{120}\[NaN\]y+…$/);
  assert.ok(long.length < 620);
  assert.match(read('x'.repeat(5000), 'nan'), /^x{600}…$/);
  assert.equal(pieces('a'.repeat(500), 'a', false).filter((p) => p.marked).length, 50);
});
