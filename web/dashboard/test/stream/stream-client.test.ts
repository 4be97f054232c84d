import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StreamFeed } from '../../src/explore/stream-client';
import type { StreamBody } from '../../src/explore/model/stream-protocol';
import { only } from '../only';

const NOW = 1_000_000;

function answer(next: number, more = false): StreamBody {
  return only<StreamBody>({
    now_ms: NOW,
    base_ms: NOW - 1000,
    since_ms: 0,
    next,
    more,
    lanes: [{ lane: 0, task: 'worker:0', cluster: '', slots: 2 }],
    functions: ['f'],
    bars: { lane: [0], start_us: [next], duration_us: [1], function: [0], state: [0], count: [1], closure: ['cl_1'] },
    running: { lane: [], start_us: [], function: [], closure: [] },
  });
}

function feed(more: boolean[] = []) {
  const asked: Record<string, string>[] = [];
  const of = new StreamFeed(async (query) => {
    asked.push(Object.fromEntries(query));
    return answer(asked.length, more[asked.length - 1] ?? false);
  });
  return { of, asked };
}

const wanted = (from: number, to: number, more = {}) => ({ view: { from, to }, now: NOW, tasks: '', job: '', cluster: '', ...more });

test('the feed requests the visible range first and then only newer data', async () => {
  const { of, asked } = feed();
  assert.equal(await of.look(wanted(NOW - 60_000, NOW)), true);
  await of.look(wanted(NOW - 59_000, NOW + 1000));
  assert.deepEqual(asked, [
    { limit: '50000', from_ms: String(NOW - 120_000) },
    { limit: '50000', from_ms: String(NOW - 120_000), after: '1' },
  ]);
  assert.equal(of.stream.size, 2);
});

test('the past is requested once, and again after panning beyond it', async () => {
  const { of, asked } = feed();
  await of.look(wanted(NOW - 600_000, NOW - 590_000));
  assert.equal(asked[0]!.to_ms, String(NOW - 580_000));
  assert.deepEqual(asked[1], { from_ms: String(NOW), limit: '1' }, 'what began then and runs still');
  assert.equal(await of.look(wanted(NOW - 605_000, NOW - 595_000)), false);
  await of.look(wanted(NOW - 615_000, NOW - 605_000));
  assert.equal(asked.length, 4);
});

test('a range that ended after its request is requested once more', async () => {
  const { of, asked } = feed();
  const over = (now: number, until?: number) => ({ ...wanted(NOW - 30, NOW), now, ...(until === undefined ? {} : { until }) });
  await of.look(over(NOW + 10)); // the clock is behind, or the job is running
  assert.equal(asked[0]!.to_ms, undefined);
  await of.look(over(NOW + 1000));
  assert.deepEqual(asked.slice(1), [
    { limit: '50000', from_ms: String(NOW - 60), after: '1' },
    { from_ms: String(NOW + 1000), limit: '1' },
  ]);
  assert.equal(await of.look(over(NOW + 2000)), false);
  assert.equal(asked.length, 3);
  await of.look({ ...wanted(NOW - 30, NOW + 3000), now: NOW + 3000 });
  assert.equal(asked[3]!.after, undefined, 'newer data needs a new request');

  const job = feed();
  await job.of.look({ ...wanted(NOW - 600_000, NOW), until: NOW - 10 });
  assert.equal(job.asked[0]!.to_ms, String(NOW - 10), 'ten minutes that are over are not waited for another ten');
  assert.equal(await job.of.look({ ...wanted(NOW - 600_000, NOW), until: NOW - 10 }), false, 'though the view has room behind it');
});

test('another filter or server run causes a new request', async () => {
  const { of, asked } = feed();
  await of.look(wanted(NOW - 60_000, NOW));
  await of.look(wanted(NOW - 60_000, NOW, { job: 'job_1' }));
  assert.equal(asked[1]!.job, 'job_1');
  assert.equal(asked[1]!.after, undefined);
  of.forget();
  await of.look(wanted(NOW - 60_000, NOW, { job: 'job_1' }));
  assert.equal(asked[2]!.after, undefined);
});

test('large ranges are requested in pages, and the rest a moment later', async () => {
  const { of, asked } = feed(Array.from({ length: 10 }, () => true));
  const bars = () => asked.filter((q) => q.limit !== '1');
  await of.look(wanted(NOW - 600_000, NOW - 590_000));
  assert.deepEqual(
    bars().map((q) => q.after),
    [undefined, '1', '2', '3', '4', '5', '6', '7'],
  );
  assert.equal(await of.look(wanted(NOW - 600_000, NOW - 590_000)), true);
  assert.equal(bars().length, 10);
  assert.ok(bars().every((q) => q.to_ms !== undefined));
  assert.equal(await of.look(wanted(NOW - 600_000, NOW - 590_000)), false);
});

test('an outdated answer is ignored', async () => {
  const waiting: ((body: StreamBody) => void)[] = [];
  const of = new StreamFeed(() => new Promise((done) => waiting.push(done)));
  const first = of.look(wanted(NOW - 60_000, NOW));
  const second = of.look(wanted(NOW - 60_000, NOW));
  waiting[1]!(answer(2));
  waiting[0]!(answer(1));
  assert.deepEqual([await first, await second], [false, true]);
  assert.equal(of.stream.size, 1);
});
