// Lists all tasks; tasks with problems come first. Only the visible rows exist in the DOM.

import { age, clock, count, moment, plural } from '../shared/model/format';
import { fast, order, query, selected, setQuery, slow, store, viewNow, watchRows } from '../shared/page';
import { follow, workerAddress } from '../shared/route';
import type { TaskView } from '../shared/model/tasks';
import { Grid, type Column } from '../shared/grid';
import { WorkerLink } from '../shared/link';
import { Panel } from '../shared/panel';
import { Chip, SHAPES, WORDS } from '../shared/shape';
import { Clipped } from '../shared/text';

// Each row is the ID of a task. The data of the task is read when the row is drawn.
const shown = (cell: (task: TaskView, id: number) => preact.ComponentChildren) => (id: number) => {
  const task = store.tasks.view(id);
  return task ? cell(task, id) : null;
};

const columns: readonly Column<number>[] = [
  {
    title: 'State',
    width: '116px',
    cell: shown((task) => {
      const aside = task.cordoned && task.state === 'CONNECTED';
      const shape = aside ? 'late' : SHAPES[task.state];
      return (
        <Chip shape={shape} title={aside ? 'Receives no new closures until it is uncordoned' : undefined}>
          {aside ? 'Cordoned' : WORDS[task.state]}
        </Chip>
      );
    }),
  },
  {
    title: 'Task',
    width: 'minmax(92px, 1fr)',
    cell: shown((task) => <WorkerLink cell task={task.name} of={task.cluster} />),
  },
  {
    title: 'Host',
    width: 'minmax(100px, 1.1fr)',
    cell: shown((task) => <Clipped text={task.host} kind="soft" />),
  },
  { title: 'Heartbeat', width: '66px', right: true, narrow: 'hide', cell: shown((task, id) => <Heartbeat id={id} seen={task.seen} />) },
  {
    title: 'Running',
    width: '56px',
    right: true,
    cell: shown((task) => (
      <>
        {count(task.running)}
        <span class="soft"> / {count(task.slots)}</span>
      </>
    )),
  },
  { title: 'Finished', width: '58px', right: true, narrow: 'hide', cell: shown((task) => count(task.finished)) },
  {
    title: 'Failed',
    width: '52px',
    right: true,
    narrow: 'hide',
    cell: shown((task) =>
      task.failed > 0 ? (
        <b class="text-error" title={`${count(task.failed)} of ${plural(task.finished, 'closure')} failed`}>
          {count(task.failed)}
        </b>
      ) : (
        <span class="soft">0</span>
      ),
    ),
  },
  { title: 'Reason', width: 'minmax(160px, 2.4fr)', narrow: 'long', says: (id) => reasonOf(id), cell: shown((task) => <Reason task={task} />) },
];

const reasonOf = (id: number): string => {
  const task = store.tasks.view(id);
  return task?.cordoned && task.state !== 'CONNECTED' ? 'cordoned' : (task?.error ?? '');
};

function Reason({ task }: { task: TaskView }) {
  return (
    <>
      {task.cordoned && task.state !== 'CONNECTED' && (
        <span class="text-late" title="Receives no new closures until it is uncordoned">
          cordoned{task.error && '; '}
        </span>
      )}
      <Clipped text={task.error} kind={task.state === 'ERROR' ? 'text-error' : 'soft'} />
    </>
  );
}

function Heartbeat({ id, seen }: { id: number; seen: number }) {
  slow.value;
  const slot = store.tasks.slot(id);
  if (slot === undefined) return null;
  const heartbeat = store.tasks.heartbeatAge(slot, viewNow());
  return (
    <span title={`last heartbeat ${moment(seen)}`}>
      {heartbeat.exact ? '' : '< '}
      {age(heartbeat.ms)}
    </span>
  );
}

export function TaskList() {
  fast.value;
  slow.value;
  const total = store.tasks.size;
  const ids = order.value;
  const note = query.value ? `${count(ids.length)} of ${count(total)}` : total > 0 ? 'problems first' : undefined;
  const row = selected.value;
  return (
    <Panel id="tasks" title="Closure workers" note={note} span={8} aside={query.value && <ClearFilter />}>
      <Grid
        id="tasks"
        testid="task"
        columns={columns}
        rows={ids}
        name={String}
        kind={(id) => `row-${SHAPES[store.tasks.view(id)?.state ?? 'CONNECTED']}`}
        data={(id) => {
          const task = store.tasks.view(id);
          return { 'data-task': task?.name ?? '', 'data-state': task?.state ?? '' };
        }}
        open={(id) => workerAddress(store.tasks.view(id)?.name ?? '', store.tasks.view(id)?.cluster)}
        chosen={row === null ? null : String(row)}
        choose={(name) => (selected.value = name === null ? null : Number(name))}
        seen={watchRows}
        least={690}
        empty={store.seq('tasks') === null ? 'Loading…' : query.value ? `No task has a name, host or incarnation that contains “${query.value}”.` : 'Tasks appear here when they join.'}
      />
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

// A reason is often too long for its cell.
function Detail() {
  slow.value;
  fast.value;
  const task = selected.value === null ? undefined : store.tasks.view(selected.value);
  if (!task) {
    const n = order.value.length;
    return n === 0 ? null : <p class="foot">{plural(n, 'task')}. Choose a task to see its details.</p>;
  }
  const shape = SHAPES[task.state];
  return (
    <div class="detail" data-testid="task-detail">
      <b class="mono">
        <a href={workerAddress(task.name, task.cluster)} onClick={follow}>
          <bdi>{task.name}</bdi>
        </a>
      </b>
      <Chip shape={shape} title={moment(task.since)}>
        {WORDS[task.state]} for {age(viewNow() - task.since)}, since {clock(task.since)}
      </Chip>
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
