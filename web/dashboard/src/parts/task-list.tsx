// The task list: any number of tasks, but only the rows on screen exist. Problems come first.

import { useSignal, useSignalEffect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { age, clock, count, moment, plural } from '../model/format';
import { fast, order, query, selected, setQuery, slow, store, viewNow, watchRows } from '../page';
import { Panel } from './panel';
import { Mark, SHAPES, WORDS } from './shape';
import { useSize } from './size';

const ROW = 30; // height of a row and of the header; the CSS has the same number
const SPARE = 3; // rows kept beyond each edge
const COLUMNS = ['State', 'Task', 'Host', 'Heartbeat', 'Running', 'Finished', 'Reason'];

export function TaskList({ wide = false }: { wide?: boolean }) {
  fast.value;
  const total = store.tasks.size;
  const shown = order.value.length;
  const note = query.value ? `${count(shown)} of ${count(total)}` : total > 0 ? 'problems first' : undefined;
  return (
    <Panel id="tasks" title={wide ? 'Closure workers' : 'Tasks'} note={note} span={wide ? 12 : 8} aside={query.value && <ClearFilter />}>
      <Grid />
      <Detail />
    </Panel>
  );
}

function ClearFilter() {
  return (
    <button type="button" onClick={() => setQuery('')}>
      Clear “{query.value}”
    </button>
  );
}

function Grid() {
  const box = useRef<HTMLDivElement>(null);
  const { height } = useSize(box);
  const top = useSignal(0);
  const ids = order.value;
  const first = Math.max(0, Math.floor(top.value / ROW) - SPARE);
  const last = Math.min(ids.length, Math.ceil((top.value + Math.max(height, ROW)) / ROW) + SPARE);
  const visible = Array.from(ids.subarray(first, last));
  const chosen = selected.value;
  const chosenAt = chosen === null ? -1 : ids.indexOf(chosen);

  useEffect(() => {
    const timer = setTimeout(() => watchRows(visible), 200);
    return () => clearTimeout(timer);
  }, [visible.join()]);

  // Whoever selects a task, here or on the map, sees it.
  useSignalEffect(() => {
    const id = selected.value;
    const at = id === null ? -1 : order.peek().indexOf(id);
    if (at >= 0) reveal(box.current!, at);
  });

  const move = (to: number) => {
    const id = ids[Math.max(0, Math.min(ids.length - 1, to))];
    if (id !== undefined) selected.value = id;
  };
  const onKey = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(height / ROW) - 2);
    const steps: Record<string, number> = {
      ArrowDown: chosenAt + 1,
      ArrowUp: chosenAt - 1,
      PageDown: chosenAt + page,
      PageUp: chosenAt - page,
      Home: 0,
      End: ids.length - 1,
    };
    const to = steps[event.key];
    if (event.key === 'Escape') selected.value = null;
    if (to === undefined) return;
    event.preventDefault();
    move(to);
  };

  // The selected row stays mounted wherever one scrolls: aria-activedescendant must name something that exists.
  const mounted = visible.map((id, n) => [id, first + n] as const);
  if (chosenAt >= 0 && (chosenAt < first || chosenAt >= last)) mounted.push([chosen!, chosenAt]);

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      tabIndex={0}
      aria-labelledby="tasks-title"
      aria-rowcount={ids.length + 1}
      aria-colcount={COLUMNS.length}
      aria-activedescendant={chosenAt >= 0 ? `task-${chosen}` : undefined}
      data-testid="task-list"
      onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div role="rowgroup" class="grid-head">
        <div role="row" class="grid-row" aria-rowindex={1}>
          {COLUMNS.map((word, n) => (
            <span key={word} role="columnheader" class={n >= 3 && n <= 5 ? 'right' : ''}>
              {word}
            </span>
          ))}
        </div>
      </div>
      {ids.length === 0 ? (
        <Empty />
      ) : (
        <div role="rowgroup" class="grid-body" style={{ height: `${ids.length * ROW}px` }}>
          {mounted.map(([id, at]) => (
            <Row key={id} id={id} at={at} chosen={id === chosen} />
          ))}
        </div>
      )}
    </div>
  );
}

function reveal(box: HTMLElement, at: number): void {
  const top = at * ROW;
  const room = box.clientHeight - ROW; // the header covers one row
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + room) box.scrollTop = top + ROW - room;
}

function Empty() {
  if (store.counters === null) return null;
  return (
    <div role="rowgroup">
      <div role="row">
        <div role="gridcell" class="calm">
          {query.value ? `No task has “${query.value}” in its name, host or incarnation.` : 'Tasks are listed here when they join.'}
        </div>
      </div>
    </div>
  );
}

function Row({ id, at, chosen }: { id: number; at: number; chosen: boolean }) {
  slow.value;
  fast.value;
  const task = store.tasks.view(id);
  if (!task) return null;
  const heartbeat = store.tasks.heartbeatAge(store.tasks.slot(id)!, viewNow());
  const shape = SHAPES[task.state];
  return (
    <div
      id={`task-${id}`}
      class={`grid-row is-row row-${shape}`}
      role="row"
      aria-rowindex={at + 2}
      aria-selected={chosen}
      data-testid="task-row"
      data-task={task.name}
      data-state={task.state}
      style={{ transform: `translateY(${at * ROW}px)` }}
      onClick={() => (selected.value = chosen ? null : id)}
    >
      <span role="gridcell" class={`text-${shape} chip`}>
        <Mark shape={shape} /> {WORDS[task.state]}
      </span>
      <span role="gridcell" class="mono clip">
        <bdi>{task.name}</bdi>
      </span>
      <span role="gridcell" class="clip soft" title={task.host}>
        <bdi>{task.host}</bdi>
      </span>
      <span role="gridcell" class="right" title={`last sign of life ${moment(task.seen)}`}>
        {heartbeat.exact ? '' : '< '}
        {age(heartbeat.ms)}
      </span>
      <span role="gridcell" class="right">
        {count(task.running)}
        <span class="soft"> / {count(task.slots)}</span>
      </span>
      <span role="gridcell" class="right">
        {count(task.finished)}
      </span>
      <span role="gridcell" class={`clip ${task.state === 'ERROR' ? 'text-error' : 'soft'}`} title={task.error}>
        <bdi>{task.error}</bdi>
      </span>
    </div>
  );
}

// All of what is known of the selected task: a reason is often longer than its cell.
function Detail() {
  slow.value;
  fast.value;
  const task = selected.value === null ? undefined : store.tasks.view(selected.value);
  if (!task) {
    const n = order.value.length;
    return n === 0 ? null : <p class="foot">{plural(n, 'task')}. Choose one to see all that is known of it.</p>;
  }
  const shape = SHAPES[task.state];
  return (
    <div class="detail" data-testid="task-detail">
      <b class="mono">
        <bdi>{task.name}</bdi>
      </b>
      <span class={`chip text-${shape}`} title={moment(task.since)}>
        <Mark shape={shape} /> {WORDS[task.state]} for {age(viewNow() - task.since)}, since {clock(task.since)}
      </span>
      <span>
        incarnation <code>{task.incarnation}</code>
      </span>
      <span>
        host <bdi>{task.host}</bdi>
      </span>
      {task.error && (
        <span class={`reason ${task.state === 'ERROR' ? 'text-error' : ''}`}>
          <bdi>{task.error}</bdi>
        </span>
      )}
    </div>
  );
}
