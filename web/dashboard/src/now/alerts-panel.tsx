// An alert disappears when its cause ends or when a user dismisses the alert.

import { useSignal } from '@preact/signals';
import { bare } from '../shared/model/ansi';
import { commandFor, deedOf, joinAddress, nameOfItem, typed, urgencyOf, verdict } from '../shared/model/alert-list';
import { age, count, moment, plural } from '../shared/model/format';
import { taskTotals } from '../shared/model/map-groups';
import type { AttentionRow } from '../shared/model/protocol';
import { frozen, slow, store, viewNow } from '../shared/page';
import { Copy } from '../shared/copy';
import { lazy } from '../shared/lazy';
import { Panel } from '../shared/panel';
import { Mark } from '../shared/shape';
import { follow } from '../shared/route';
import { DeedButton, Why } from './deeds';
import { items, openItems, seen } from '../shared/seen';

export const join = (): string => joinAddress(store.clusters.all(), location.hostname);

const Notify = lazy(
  async () => (await import('../shell/notices')).NotifyButton,
  () => null,
);

export function Verdict() {
  slow.value;
  if (store.seq('attention') === null) return null;
  const open = openItems();
  const worst = open.some((row) => row.severity === 'error') ? 'error' : open.length > 0 ? 'late' : 'connected';
  return (
    <p class={`verdict is-${worst}-line span-12`} data-testid="verdict" data-state={worst}>
      <Mark shape={worst} /> <bdi>{bare(verdict(open, calm()))}</bdi>
    </p>
  );
}

function calm(): string {
  const { counters } = store;
  const totals = counters && taskTotals(counters.tasks, store.clusters.all());
  if (!totals || totals.total === 0) return 'Ready. No task has joined yet.';
  return `All is well: ${count(totals.connected)} of ${count(totals.total)} connected, ${plural((counters.jobs.queued ?? 0) + counters.jobs.running, 'unfinished job')}.`;
}

export function Attention() {
  slow.value;
  const aside = useSignal(false);
  const all = items();
  const open = openItems();
  const put = all.length - open.length;
  const shown = aside.value ? all : open;
  return (
    <Panel
      id="attention"
      title="Alerts"
      span={12}
      note={open.length > 1 && 'ongoing problems first, then newest first'}
      aside={
        <div class="actions">
          {put > 0 && (
            <button type="button" class="plain" data-testid="show-seen" aria-pressed={aside.value} onClick={() => (aside.value = !aside.value)}>
              {aside.value ? 'Hide' : 'Show'} {count(put)} seen
            </button>
          )}
          <Notify />
        </div>
      }
    >
      <ul class="attention" data-testid="attention" data-count={shown.length}>
        {shown.map((item) => (
          <Item key={nameOfItem(item)} item={item} put={!open.includes(item)} />
        ))}
      </ul>
      {store.attention.more > 0 && <p class="foot">and {store.attention.more} more</p>}
      {open.length === 0 && store.seq('attention') !== null && <p class="calm">No alerts.{frozen.value ? ' (as of the last update)' : ''}</p>}
    </Panel>
  );
}

function Item({ item, put }: { item: AttentionRow; put: boolean }) {
  const name = nameOfItem(item);
  const command = commandFor(item);
  const deed = deedOf(item);
  const why = useSignal(false);
  return (
    <li data-testid="attention-item" data-kind={item.rule} data-severity={item.severity} data-urgency={urgencyOf(item)} class={put ? 'is-seen' : ''}>
      <Mark shape={item.severity === 'error' ? 'error' : 'late'} />
      <div>
        <div class="attention-title">
          {item.link ? (
            <a href={item.link} onClick={follow}>
              <bdi>{item.title}</bdi>
            </a>
          ) : (
            <b>
              <bdi>{item.title}</bdi>
            </b>
          )}
          {item.since_ms > 0 && <time title={moment(item.since_ms)}>{age(viewNow() - item.since_ms)}</time>}
        </div>
        {item.detail && (
          <p title={bare(item.detail)}>
            <bdi>{bare(item.detail)}</bdi>
          </p>
        )}
        {why.value && deed && <Why deed={deed} />}
      </div>
      <div class="actions">
        {deed && <DeedButton deed={deed} title={item.title} why={why} />}
        {command && <Copy text={typed(command, location.hostname)} what={command} label="Copy command" />}
        {item.link && deed?.does !== 'explain' && (
          <a class="button" href={item.link} onClick={follow} data-testid="attention-deed" aria-label={`Show: ${item.title}`}>
            Show
          </a>
        )}
        <button type="button" data-testid="seen" aria-label={`${put ? 'Not seen' : 'Seen'}: ${item.title}`} onClick={() => (put ? seen.drop(name) : seen.add(name))}>
          {put ? 'Not seen' : 'Seen'}
        </button>
      </div>
    </li>
  );
}
