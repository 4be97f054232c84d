// An alert disappears when its cause ends or when a user dismisses the alert. Alerts with the same cause share a row.

import { useSignal } from '@preact/signals';
import { deedOfFold, folds, more, type Fold } from './model/folds';
import { bare } from '../shared/model/ansi';
import { commandFor, linkOf, nameOfItem, typed, urgencyOf, verdict } from '../shared/model/alert-list';
import { count, plural } from '../shared/model/format';
import { taskTotals } from '../shared/model/map-groups';
import type { AttentionRow } from '../shared/model/protocol';
import { frozen, slow, store } from '../shared/page';
import { Since } from '../shared/when';
import { Copy } from '../shared/copy';
import { NotifyButton } from '../shell/notices';
import { useNarrow } from '../shared/narrow';
import { Panel } from '../shared/panel';
import { Mark } from '../shared/shape';
import { address, follow } from '../shared/route';
import { DeedButton, Why } from './deeds';
import { items, openItems, seen } from '../shared/seen';

const SHOWN = 6;
const SHOWN_NARROW = 3;

export function Verdict() {
  slow.value;
  if (store.seq('attention') === null) return null;
  const open = openItems();
  const worst = open.some((row) => row.severity === 'error') ? 'error' : open.length > 0 ? 'late' : 'connected';
  const phrases = open.length > 0 ? verdict(open) : calm();
  return (
    <p class={`verdict is-${worst}-line`} data-testid="verdict" data-state={worst}>
      <Mark shape={worst} />
      <span>
        {phrases.map(({ text, link }, n) => (
          <span key={text}>
            {n > 0 && ', '}
            {link ? (
              <a href={link} onClick={follow}>
                <bdi>{bare(text)}</bdi>
              </a>
            ) : (
              <bdi>{bare(text)}</bdi>
            )}
          </span>
        ))}
      </span>
    </p>
  );
}

function calm() {
  const { counters } = store;
  const totals = counters && taskTotals(counters.tasks, store.clusters.all());
  if (!totals || totals.total === 0) return [{ text: 'Ready. No task has joined yet.', link: '' }];
  return [
    { text: 'All is well', link: '' },
    { text: `${count(totals.connected)} of ${count(totals.total)} connected`, link: address('/fleet') },
    { text: plural((counters.jobs.queued ?? 0) + counters.jobs.running, 'unfinished job'), link: address('/work', { state: 'UNFINISHED' }) },
  ];
}

export function Attention() {
  slow.value;
  const aside = useSignal(false);
  const whole = useSignal(false);
  const all = items();
  const open = openItems();
  const put = all.length - open.length;
  const rows = folds(aside.value ? all : open);
  const limit = useNarrow() ? SHOWN_NARROW : SHOWN;
  const shown = whole.value ? rows : rows.slice(0, limit);
  const rest = rows.length - shown.length + (rows.length > shown.length || whole.value ? store.attention.more : 0);
  return (
    <Panel
      id="attention"
      title="Alerts"
      span={8}
      aside={
        <div class="actions">
          {put > 0 && (
            <button type="button" class="text" data-testid="show-seen" aria-pressed={aside.value} onClick={() => (aside.value = !aside.value)}>
              {aside.value ? 'Hide' : 'Show'} {count(put)} seen
            </button>
          )}
          <NotifyButton />
        </div>
      }
    >
      <ul class="attention" data-testid="attention" data-count={rows.length} data-alerts={open.length}>
        {shown.map((fold) => (
          <Item key={fold.key} fold={fold} put={!open.includes(fold.rows[0]!)} />
        ))}
      </ul>
      {(rest > 0 || (whole.value && rows.length > limit)) && (
        <p class="foot">
          {rows.length > limit ? (
            <button type="button" class="text" data-testid="alerts-more" aria-expanded={whole.value} onClick={() => (whole.value = !whole.value)}>
              {whole.value ? 'Show fewer' : `${count(rest)} more`}
            </button>
          ) : (
            `${count(rest)} more`
          )}
        </p>
      )}
      {open.length === 0 && store.seq('attention') !== null && <p class="calm">No alerts.{frozen.value ? ' (as of the last update)' : ''}</p>}
    </Panel>
  );
}

function Item({ fold, put }: { fold: Fold; put: boolean }) {
  const item = fold.rows[0]!;
  const others = fold.rows.slice(1);
  const command = commandFor(item);
  const deed = deedOfFold(fold);
  const why = useSignal(false);
  const listed = useSignal(false);
  const severity = fold.rows.some((row) => row.severity === 'error') ? 'error' : 'warning';
  return (
    <li data-testid="attention-item" data-kind={item.rule} data-severity={severity} data-urgency={urgencyOf(item)} data-fold={fold.rows.length} class={put ? 'is-seen' : ''}>
      <Mark shape={severity === 'error' ? 'error' : 'late'} />
      <div>
        <div class="attention-title">
          <Title item={item} testid="attention-deed" />
          {others.length > 0 && (
            <button type="button" class="text" data-testid="fold-more" aria-expanded={listed.value} onClick={() => (listed.value = !listed.value)}>
              and {count(more(fold))} more with this cause
            </button>
          )}
        </div>
        {item.detail && (
          <p title={bare(item.detail)}>
            <bdi>{bare(item.detail)}</bdi>
          </p>
        )}
        {listed.value && (
          <ul class="fold">
            {others.map((row) => (
              <li key={nameOfItem(row)}>
                <Title item={row} />
              </li>
            ))}
          </ul>
        )}
        {why.value && deed && <Why deed={deed} />}
      </div>
      <Since ms={item.since_ms} />
      <div class="actions">
        {deed && <DeedButton deed={deed} title={item.title} why={why} />}
        {command && <Copy text={typed(command, location.hostname)} what={command} label="Copy command" />}
        <button
          type="button"
          class="text"
          data-testid="seen"
          aria-label={`${put ? 'Not seen' : 'Seen'}: ${item.title}`}
          onClick={() => {
            for (const name of fold.rows.map(nameOfItem)) put ? seen.drop(name) : seen.add(name);
          }}
        >
          {put ? 'Not seen' : 'Seen'}
        </button>
      </div>
    </li>
  );
}

function Title({ item, testid }: { item: AttentionRow; testid?: string }) {
  const link = linkOf(item);
  if (!link) return <bdi>{item.title}</bdi>;
  return (
    <a href={link} onClick={follow} data-testid={testid}>
      <bdi>{item.title}</bdi>
    </a>
  );
}
