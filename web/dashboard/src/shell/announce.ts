// Announces connection changes, new errors and new alerts to screen readers, at most once every five seconds. Changing
// numbers are never announced.

import { effect } from '@preact/signals';
import { announcement, connectionState } from './connection';
import { plural } from '../shared/model/format';
import { openItems } from '../shared/seen';
import { newAlerts } from '../shared/model/alert-list';
import { fast, slow, store } from '../shared/page';
import { TASK_STATES } from '../shared/model/protocol';

const EVERY_MS = 5000;
const ERROR = TASK_STATES.indexOf('ERROR');

export function startAnnouncing(): void {
  const pending = new Map<string, string>(); // only the newest message of each topic is announced
  let timer: ReturnType<typeof setTimeout> | undefined;
  let said = -Infinity;
  let errors: number | null = null;
  let state = '';

  const say = () => {
    timer = undefined;
    said = performance.now();
    announcement.value = [...pending.values()].join(' ');
    pending.clear();
  };
  const queue = (topic: string, text: string) => {
    pending.set(topic, text);
    if (timer === undefined) timer = setTimeout(say, Math.max(0, said + EVERY_MS - performance.now()));
  };

  effect(() => {
    const next = connectionState();
    if (state !== '' && next !== state) queue('connection', `Connection: ${next}.`);
    state = next;
  });
  effect(() => {
    fast.value;
    const now = store.tasks.counts[ERROR]!;
    if (errors !== null && now > errors) queue('errors', `${plural(now, 'task')} in error.`);
    errors = now;
  });
  let known: ReadonlySet<string> | null = null; // alerts that were announced, or existed when the page was opened
  effect(() => {
    slow.value;
    if (store.seq('attention') === null) return;
    const { names, text } = newAlerts(openItems(), known);
    if (text) queue('alerts', text);
    known = names;
  });
}
