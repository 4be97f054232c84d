import { attention, type Item } from './model/attention';
import { age, count, moment } from './model/format';
import { fast, frozen, selected, slow, store, viewNow } from './page';
import { Panel } from './parts/panel';
import { Mark } from './parts/shape';
import { closureAddress, follow } from './route';

export function Attention() {
  slow.value;
  fast.value;
  const now = viewNow();
  const facts = { tasks: store.tasks, counters: store.counters, jobs: store.jobs(), hello: store.hello, clusters: store.clusters.all(), now };
  const items = attention(facts);
  return (
    <Panel id="attention" title="Needs attention" span={4} aside={items.length > 1 && <span class="note">worst first</span>}>
      <ul class="attention" data-testid="attention" data-count={items.length}>
        {items.map((item, n) => (
          <li key={`${item.kind}${n}`} data-testid="attention-item" data-kind={item.kind}>
            <Mark shape={item.shape} />
            <div>
              <div class="attention-title">
                <Title item={item} />
                {item.since !== null && <time title={moment(item.since)}>{age(now - item.since)}</time>}
              </div>
              {item.detail && <p title={item.detail}>{item.detail}</p>}
            </div>
          </li>
        ))}
      </ul>
      {items.length === 0 && store.counters && (
        <p class="calm">
          {store.tasks.size === 0
            ? 'Nothing. No task has joined yet.'
            : `Nothing. ${store.tasks.size === 1 ? 'The only task is' : `All ${count(store.tasks.size)} tasks are`} connected, and no job has failed.`}
          {frozen.value ? ' (as of the last update)' : ''}
        </p>
      )}
    </Panel>
  );
}

function Title({ item }: { item: Item }) {
  if (item.row !== null) return <Show row={item.row}>{item.title}</Show>;
  if (!item.closure) return <b>{item.title}</b>;
  return (
    <a href={closureAddress(item.closure.id, item.closure.job)} onClick={follow}>
      {item.title}
    </a>
  );
}

// Shows the task in the list below.
function Show({ row, children }: { row: number; children: string }) {
  const show = () => {
    selected.value = row;
    document.getElementById('tasks')?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <button type="button" class="plain" onClick={show}>
      {children}
    </button>
  );
}
