import assert from 'node:assert/strict';
import { test } from 'node:test';

const stored = new Map<string, string>();
Object.assign(globalThis, { localStorage: { getItem: (key: string) => stored.get(key) ?? null, setItem: (key: string, text: string) => stored.set(key, text) } });
stored.set('broken', '{"not": "a list"}');
stored.set('mixed', '["a", 3, null, "b"]');
stored.set('muster.filters', JSON.stringify(['//evil.example/ away', '/\\evil away', 'javascript:alert(1) run', '/jobs?state=FAILED Jobs: failed']));
const { keptList } = await import('../src/shared/kept');
const { savedFilters, saveFilter, forgetFilter, isSaved } = await import('../src/shared/saved');
const format = await import('../src/shared/model/format');

test('a stored list is limited, has no duplicates, and survives invalid storage', () => {
  assert.deepEqual(keptList('broken', 3).list.value, []);
  const kept = keptList('mixed', 3);
  assert.deepEqual(kept.list.value, ['a', 'b']);
  for (const text of ['c', 'a', 'd']) kept.add(text);
  assert.deepEqual(kept.list.value, ['c', 'a', 'd']);
  kept.drop('a');
  assert.equal(stored.get('mixed'), '["c","d"]');
});

test('a saved filter opens only pages of this server', () => {
  assert.deepEqual(savedFilters(), [{ href: '/jobs?state=FAILED', name: 'Jobs: failed' }]);
  saveFilter('/jobs?q=a', 'one');
  saveFilter('/jobs?q=a', 'another name');
  assert.deepEqual(
    savedFilters().filter((f) => f.href === '/jobs?q=a'),
    [{ href: '/jobs?q=a', name: 'another name' }],
  );
  forgetFilter('/jobs?q=a');
  assert.equal(isSaved('/jobs?q=a'), false);
});

test('times show their zone', () => {
  format.setClockZone('UTC');
  assert.equal(format.moment(Date.UTC(2026, 10, 24, 16, 0, 45)), '2026-11-24 16:00:45 UTC');
  assert.equal(format.clock(Date.UTC(2026, 10, 24, 16, 0, 45)), '16:00:45');
  format.setClockZone('local');
  assert.match(format.moment(Date.UTC(2026, 5, 1)), /^2026-0[56]-\d\d \d\d:\d\d:\d\d (UTC|[+−]\d\d:\d\d)$/);
});

test('ids are shortened', () => {
  assert.equal(format.shortId('job_0000000000000a0b'), 'job …0a0b');
  assert.equal(format.shortId('a name'), 'a name');
});
