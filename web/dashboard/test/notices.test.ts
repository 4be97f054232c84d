import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameOfItem } from '../src/shared/model/alert-list';
import { LASTS_MS, Notices } from '../src/shell/model/notices';
import type { AttentionRow } from '../src/shared/model/protocol';

const alert = (rule: string, more: Partial<AttentionRow> = {}): AttentionRow => ({ rule, severity: 'error', title: rule, detail: '', since_ms: 1, count: 1, link: '/', ...more });

test('lasting alerts are reported once, and initial ones are not', () => {
  const notices = new Notices();
  const [old, lost] = [alert('program-failed'), alert('worker-lost')];
  notices.known([old]);
  assert.deepEqual(notices.due([old, lost], [], 0), []);
  assert.deepEqual(notices.due([old, lost], [], LASTS_MS - 1), []);
  assert.deepEqual(notices.due([old, lost], [], LASTS_MS), [lost]);
  assert.deepEqual(notices.due([old, lost], [], 9 * LASTS_MS), []);
  const again = alert('worker-lost', { since_ms: 2 });
  notices.due([again], [], 10 * LASTS_MS);
  assert.deepEqual(notices.due([again], [], 11 * LASTS_MS), [again]);
});

test('brief, dismissed and ongoing warning alerts are not reported', () => {
  const notices = new Notices();
  const [lost, late, waits] = [alert('worker-lost'), alert('agents-late', { severity: 'warning' }), alert('barrier-stuck', { severity: 'warning' })];
  notices.due([lost, late, waits], [], 0);
  notices.due([late, waits], [], 1000);
  assert.deepEqual(notices.due([lost, late, waits], [], LASTS_MS), [waits]);
  assert.deepEqual(notices.due([lost], [nameOfItem(lost)], 9 * LASTS_MS), []);
});
