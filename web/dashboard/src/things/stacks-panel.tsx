// In which lines a worker's process is just now; asked for by a button, as it takes the worker's time.

import { useSignal } from '@preact/signals';
import { api, get } from '../rest';
import { Panel } from '../parts/panel';

interface TaskStacks {
  worker: string;
  state: string;
  stack?: string;
  process?: string;
  pid?: number;
}

const WHY: Record<string, string> = {
  NOT_PYTHON: 'It is no Python that has registered, and could not be looked at from outside.',
  STOPPED: 'It is stopped by a signal or a debugger.',
  IN_KERNEL: 'It is in a call of the kernel that cannot be interrupted.',
  NO_ANSWER: 'It did not answer within a second; its worker may be older than the question.',
  OFF: 'Its worker is not prepared for it.',
  UNKNOWN: 'It has ended meanwhile.',
};

export function StacksPanel({ path }: { path: string }) {
  const found = useSignal<TaskStacks | null>(null);
  const problem = useSignal('');
  const asks = useSignal(false);
  const look = async () => {
    asks.value = true;
    try {
      found.value = await get<TaskStacks>(api(`${path}/stacks`));
      problem.value = '';
    } catch (error) {
      problem.value = error instanceof Error ? error.message : String(error);
    }
    asks.value = false;
  };
  const it = found.value;
  return (
    <Panel
      id="stacks"
      title="In which line it is"
      note={it && `${it.worker}${it.pid ? `, process ${it.pid}` : ''}${it.process ? `, ${it.process}` : ''}`}
      span={12}
      aside={
        <button type="button" disabled={asks.value} data-testid="look-at-stacks" onClick={look}>
          {it ? 'Look again' : 'Look'}
        </button>
      }
    >
      {problem.value && <p class="wrap text-error">{problem.value}</p>}
      {!it && !problem.value && <p class="calm">Nothing is stopped for it.</p>}
      {it && it.state !== 'TAKEN' && it.state !== 'NATIVE' && <p class="calm">{WHY[it.state] ?? it.state}</p>}
      {it?.stack && (
        <pre class="log mono" tabIndex={0} aria-label="Stacks" data-testid="stacks">
          <bdi>{it.stack}</bdi>
        </pre>
      )}
    </Panel>
  );
}
