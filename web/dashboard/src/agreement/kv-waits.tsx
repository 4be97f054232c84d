import { useSignal } from '@preact/signals';
import { taskName } from '../shared/model/agents';
import { age, count, plural } from '../shared/model/format';
import type { Waits } from './kv-client';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';

const SHOWN = 12;
const short = (task: string): string => taskName(task) || 'unknown';

export function KeyWaits({ waits }: { waits: Waits | null }) {
  const by = useSignal<'key' | 'task'>('key');
  const total = waits?.keys.reduce((n, k) => n + k.count, 0) ?? 0;
  const aside = (
    <Segments
      label="Group"
      options={[
        ['key', 'by key'],
        ['task', 'by task'],
      ]}
      now={by.value}
      testid="waits-by"
      choose={(next) => (by.value = next)}
    />
  );
  return (
    <Panel id="waits" title="Missing keys" note={total > 0 && `${plural(total, 'call')} waiting for keys that do not exist`} span={12} aside={aside}>
      {total === 0 && waits && <p class="calm">No task is waiting for a key.</p>}
      <ul class="waits">{by.value === 'key' ? byKey(waits) : byTask(waits)}</ul>
      {waits?.more && <p class="foot">Only the first {count(waits.keys.length)} keys are shown.</p>}
    </Panel>
  );
}

const byKey = (waits: Waits | null) =>
  waits?.keys.map((k) => {
    const longest = Math.max(0, ...k.waiters.map((w) => w.waiting_ms));
    const names = k.waiters.slice(0, SHOWN).map((w) => short(w.task));
    return <Wait key={k.key} head={k.key} note={`${count(k.count)} waiting, longest ${age(longest)}`} names={names} rest={k.count - names.length} />;
  });

const byTask = (waits: Waits | null) =>
  waits?.tasks.map((t) => {
    const names = t.keys.slice(0, SHOWN);
    return <Wait key={t.task} head={short(t.task)} note={`waiting for ${plural(t.keys.length, 'key')}`} names={names} rest={t.keys.length - names.length} />;
  });

function Wait({ head, note, names, rest }: { head: string; note: string; names: string[]; rest: number }) {
  return (
    <li data-testid="wait" data-of={head}>
      <div class="progress-head">
        <b class="mono clip" title={head}>
          <bdi>{head}</bdi>
        </b>
        <span>{note}</span>
      </div>
      <ul class="names">
        {names.map((name) => (
          <li key={name}>
            <code>
              <bdi>{name}</bdi>
            </code>
          </li>
        ))}
        {rest > 0 && <li class="rest soft">and {count(rest)} more</li>}
      </ul>
    </li>
  );
}
