import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LINES_KEPT, lineAt, Log, shownLines } from '../src/shared/model/log';
import { mayLog, type LogBody, type LogLine } from '../src/shared/model/log-protocol';
import { parse, type LogMessage } from '../src/shared/model/protocol';
import { Store } from '../src/shared/model/store';

const line = (seq: number, text = `line ${seq}`, index = 0): LogLine => ({ seq, time_ms: 0, closure: `cl_${index}`, index, attempt: 1, worker: 'worker:0', level: 'info', text });
const body = (lines: LogLine[], more: Partial<LogBody> = {}): LogBody => ({ lines, earlier: false, dropped: 0, ended: false, known: true, ...more });
const seqs = (log: Log): number[] => log.lines.map((l) => l.seq);

test('a delta adds lines, and an overlapping one repeats none', () => {
  const log = new Log();
  log.apply(body([line(1), line(2)]), true);
  log.apply(body([line(2), line(5)]), false);
  assert.deepEqual(seqs(log), [1, 2, 5]);
  log.apply(body([line(9)], { ended: true }), true);
  assert.deepEqual(seqs(log), [9]);
  assert.ok(log.ended);
});

test('the newest lines are kept, and dropped ones are indicated', () => {
  const log = new Log();
  log.apply(body(Array.from({ length: LINES_KEPT }, (_, n) => line(n + 1))), true);
  assert.ok(!log.earlier);
  log.apply(body([line(LINES_KEPT + 1)]), false);
  assert.equal(log.lines.length, LINES_KEPT);
  assert.equal(log.lines[0]!.seq, 2);
  log.apply(body([]), false);
  assert.ok(log.earlier);
});

test('an unfinished line is replaced by the next one of its writer', () => {
  const log = new Log();
  log.apply(body([line(1, 'first'), line(2, '1/3\r'), line(3, 'another', 1)]), true);
  assert.deepEqual(seqs(log), [1, 2, 3]);
  log.apply(body([line(4, '2/3\r')]), false);
  log.apply(body([line(5, '3/3')]), false);
  assert.deepEqual(seqs(log), [1, 3, 5]);
  log.apply(body([line(6, 'end')]), false);
  assert.deepEqual(seqs(log), [1, 3, 5, 6]);
});

test('words find lines, and several writers are distinguished', () => {
  const log = new Log();
  log.apply(body([line(1, 'Loss 0.5'), line(2, 'done')]), true);
  assert.deepEqual(
    shownLines(log, ' loss ').lines.map((l) => l.seq),
    [1],
  );
  assert.ok(!shownLines(log, '').several);
  log.apply(body([line(3, 'x', 1)]), false);
  assert.ok(shownLines(log, '').several);
  assert.ok(!shownLines(new Log(), '').several);
});

test('the store keeps a log while it is displayed', () => {
  const store = new Store();
  const message = (t: 'snap' | 'd', seq: number, lines: LogLine[]): LogMessage =>
    parse(JSON.stringify({ t, topic: 'logs:job_1', seq, now: 1, from: seq - 1, ...body(lines, { progress: { fraction: 0.5, text: 'half', attempt: 1, time_ms: 0 } }) })) as LogMessage;
  assert.equal(store.apply(message('d', 4, [])), 'gap');
  assert.equal(store.apply(message('snap', 4, [line(1)])), 'applied');
  assert.equal(store.apply(message('d', 5, [line(2)])), 'applied');
  assert.deepEqual(seqs(store.log('logs:job_1')!), [1, 2]);
  assert.equal(store.log('logs:job_1')!.progress!.text, 'half');
  store.keepWatched(['counters', 'logs:job_1']);
  assert.equal(store.seq('logs:job_1'), 5);
  store.keepWatched(['counters']);
  assert.equal(store.log('logs:job_1'), undefined);
  assert.equal(store.seq('logs:job_1'), null);
});

test('lines that are not a list are refused', () => {
  assert.throws(() => parse('{"t":"snap","topic":"logs:x","seq":1,"now":1,"lines":3}'));
});

test('logs are requested only for valid ids', () => {
  for (const id of ['job_00000000000000ff', 'cl_0000000100000001']) assert.ok(mayLog(id), id);
  for (const id of ['', 'job_1', 'job_00000000000000FF', '<b>', ' job_00000000000000ff', 'task_00000000000000ff']) assert.ok(!mayLog(id), id);
});

test('a range keeps its lines, and a time finds the last line before it', () => {
  const log = new Log();
  const at = (seq: number, time_ms: number) => ({ ...line(seq, `line ${seq}`), time_ms });
  log.apply(body([at(1, 100), at(2, 200), at(3, 300)]), true);
  const within = (from: number, to: number) => shownLines(log, 'line', { from, to }).lines.map((l) => l.seq);
  assert.deepEqual(within(200, 300), [2, 3]);
  assert.deepEqual(within(101, 199), []);
  assert.deepEqual(
    [99, 100, 299, 900].map((ms) => lineAt(log.lines, ms)),
    [-1, 0, 1, 2],
  );
});
