// Hosts, the workers on each host, and the slots and the process of opened workers.

import type { ComponentChildren } from 'preact';
import { cpuText, gpuText, memoryText } from '../run/model/machines';
import { bytes, count, plural } from '../shared/model/format';
import { WorkerLink } from '../shared/link';
import { useSorting, type ListSorting } from '../shared/listing';
import { choose, chosen } from '../shared/route';
import { Chip } from '../shared/shape';
import { isSlow, slownessText, stateOf, type Branch, type Sort, type Worker } from './model/fleet';
import { Slots } from './slots';

const ROWS = 200; // rows of workers before "Show more"; more rows would make each update slow

interface Head {
  sort?: Sort;
  title: string;
  hint?: string;
  kind?: string;
}

const HEADS: readonly Head[] = [
  { sort: 'host', title: 'Host / worker' },
  { title: 'State' },
  { sort: 'cpu', title: 'Cores busy', kind: 'right' },
  { sort: 'memory', title: 'Memory', kind: 'right' },
  { sort: 'gpu', title: 'GPUs busy', kind: 'right' },
  { sort: 'running', title: 'Running', hint: 'occupied slots of all slots', kind: 'right' },
  { sort: 'queued', title: 'Queued', hint: 'closures that wait on the worker for a free slot', kind: 'right' },
  { sort: 'values', title: 'Values', hint: 'bytes of the values in the memory of the worker', kind: 'right' },
  { sort: 'recent', title: 'Failed, 1 h', hint: 'executions that ended in the last hour and did not succeed, retries included', kind: 'right' },
  { sort: 'slowness', title: 'Duration', hint: 'mean duration of the last 10 minutes compared with the median of the workers, for the same functions' },
];

export function FleetTable({ tree, gpus }: { tree: readonly Branch[]; gpus: boolean }) {
  const sorting = useSorting('host');
  const most = Number(chosen('rows').value) || ROWS;
  const heads = HEADS.filter(({ sort }) => gpus || sort !== 'gpu');
  const total = tree.reduce((n, { workers }) => n + workers.length, 0);
  let left = most;
  const shown = tree.flatMap((branch) => {
    const workers = branch.workers.slice(0, left);
    left -= workers.length;
    return workers.length > 0 ? [{ ...branch, workers, hidden: branch.workers.length - workers.length }] : [];
  });
  return (
    <>
      <table class="fleet" data-testid="fleet">
        <thead>
          <tr>
            {heads.map((head) => (
              <Title key={head.title} head={head} sorting={sorting} />
            ))}
          </tr>
        </thead>
        {shown.map((branch) => (
          <HostRows key={branch.host.host} {...branch} gpus={gpus} width={heads.length} />
        ))}
      </table>
      {total > most && (
        <p class="foot">
          {count(most)} of {plural(total, 'worker')} are shown.{' '}
          <button type="button" data-testid="fleet-more" onClick={() => choose({ rows: String(most + ROWS) }, 'replace')}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}

function Title({ head: { sort, title, hint, kind }, sorting }: { head: Head; sorting: ListSorting }) {
  if (!sort) return <th scope="col">{title}</th>;
  const mine = sorting.by === sort;
  const order = !mine ? 'none' : sorting.descending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={kind} title={hint} aria-sort={order}>
      <button type="button" class="plain" data-testid={`sort-${sort}`} onClick={() => sorting.sort(sort, mine ? !sorting.descending : sort !== 'host')}>
        {title} <span aria-hidden="true">{!mine ? '↕' : sorting.descending ? '↓' : '↑'}</span>
      </button>
    </th>
  );
}

const Cell = ({ title, kind = 'right', children }: { title: string; kind?: string; children: ComponentChildren }) => (
  <td class={kind} data-title={title}>
    {children}
  </td>
);

const Failures = ({ n }: { n: number }) => (n > 0 ? <b class="text-error">{count(n)}</b> : <span class="soft">0</span>);

function HostRows({ host, workers, sum, gpus, hidden, width }: Branch & { gpus: boolean; hidden: number; width: number }) {
  const { machine } = host;
  return (
    <tbody>
      <tr class="fleet-host" data-testid="host-row" data-host={host.host}>
        <th scope="rowgroup">
          <bdi>{host.host || 'unknown host'}</bdi>
        </th>
        <td class="soft">{plural(workers.length + hidden, 'worker')}</td>
        <Cell title="Cores busy">{machine && cpuText(machine)}</Cell>
        <Cell title="Memory">{machine && memoryText(machine)}</Cell>
        {gpus && <Cell title="GPUs busy">{machine && gpuText(machine)}</Cell>}
        <Cell title="Running">
          {count(sum.running)} of {count(sum.slots)}
        </Cell>
        <Cell title="Queued">{count(sum.queued)}</Cell>
        <Cell title="Values">{bytes(sum.values)}</Cell>
        <Cell title="Failed, 1 h">
          <Failures n={sum.recent} />
        </Cell>
        <td />
      </tr>
      {workers.map((w) => (
        <WorkerRows key={`${w.cluster} ${w.task}`} w={w} gpus={gpus} width={width} />
      ))}
      {!!host.more_workers && (
        <tr>
          <td colSpan={width} class="soft">
            and {plural(host.more_workers, 'more worker')} on this host
          </td>
        </tr>
      )}
    </tbody>
  );
}

function WorkerRows({ w, gpus, width }: { w: Worker; gpus: boolean; width: number }) {
  const opened = chosen('open').value.split(',').filter(Boolean);
  const open = opened.includes(w.task);
  const toggle = () => choose({ open: (open ? opened.filter((task) => task !== w.task) : [...opened, w.task]).join(',') }, 'replace');
  const { shape, word, title } = stateOf(w);
  return (
    <>
      <tr
        class={`row-${shape === 'error' ? 'error' : 'plain'}`}
        data-testid="task-row"
        data-task={w.task}
        data-state={w.state}
        data-slow={isSlow(w) || undefined}
        data-error={w.error ? '' : undefined}
      >
        <td class="fleet-name">
          <button type="button" class="plain fleet-toggle" aria-expanded={open} aria-label={`Slots of ${w.task}`} data-testid="slots-toggle" onClick={toggle}>
            {open ? '▾' : '▸'}
          </button>
          <WorkerLink task={w.task} of={w.cluster} />
        </td>
        <td>
          <Chip shape={shape} title={title}>
            {word}
          </Chip>
        </td>
        <td />
        {w.process_memory_bytes ? <Cell title="Memory">{bytes(w.process_memory_bytes)}</Cell> : <td />}
        {gpus && <td />}
        <Cell title="Running">
          {count(w.running)} of {count(w.slots)}
        </Cell>
        <Cell title="Queued">{count(w.sent_ahead)}</Cell>
        <Cell title="Values">
          <span data-testid="value-bytes">{w.value_bytes === undefined ? '–' : bytes(w.value_bytes)}</span>
        </Cell>
        <Cell title="Failed, 1 h">
          <Failures n={w.failed_last_hour} />
        </Cell>
        <Cell title="Duration" kind={isSlow(w) ? 'text-late' : 'soft'}>
          <span data-testid="slowness">{slownessText(w)}</span>
        </Cell>
      </tr>
      {w.error && (
        <tr class={`fleet-error row-${shape === 'error' ? 'error' : 'plain'}`}>
          <td colSpan={width} class={w.state === 'ERROR' ? 'text-error' : 'soft'}>
            <bdi>{w.error}</bdi>
          </td>
        </tr>
      )}
      {open && (
        <tr class="fleet-slots">
          <td colSpan={width}>
            <Slots w={w} />
          </td>
        </tr>
      )}
    </>
  );
}
