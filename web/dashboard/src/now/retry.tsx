// Submits the unsuccessful closures of a job again, as a new job.

import { useSignal } from '@preact/signals';
import { count, plural } from '../shared/model/format';
import { refusalLine, retryEach } from '../shared/model/retry';
import { Action } from '../shared/action';
import { api, send } from '../shared/rest';
import { address, follow, go, jobAddress } from '../shared/route';

interface Props {
  id: string;
  counts?: { failed: number; cancelled: number };
  retryable?: boolean;
  main?: boolean; // whether it is the page's main action
  stay?: boolean; // if true, shows a link to the new job instead of opening the job
}

const retry = (id: string) => send<{ id: string }>('POST', api(`jobs/${encodeURIComponent(id)}/retry`));

// A second click continues with the jobs that were not retried.
export function RetryAll({ ids }: { ids: readonly string[] }) {
  const made = useSignal<ReadonlySet<string>>(new Set());
  const busy = useSignal(false);
  const left = ids.filter((id) => !made.value.has(id));
  if (left.length === 0)
    return (
      <a class="button" href={address('/work', { state: 'UNFINISHED' })} onClick={follow} data-testid="retried">
        The new jobs
      </a>
    );
  return (
    <Action
      atOnce // needs no confirmation: the new jobs can be cancelled
      testid="retry-all"
      label="Retry all"
      title={`Retry ${plural(left.length, 'job')}?`}
      yes={`Submit ${plural(left.length, 'new job')}`}
      disabled={busy.value}
      why={busy.value ? 'New jobs are being submitted.' : undefined}
      run={async () => {
        busy.value = true;
        const result = await retryEach(left, retry, (id) => (made.value = new Set([...made.value, id])));
        busy.value = false;
        if (result.refused.size > 0) throw new Error(refusalLine(result));
      }}
      done={`${plural(left.length, 'new job')} submitted.`}
    >
      <p>
        {plural(left.length, 'new job')} will run the failed and cancelled closures again, with the same arguments and options.
        {made.value.size > 0 && ` ${plural(made.value.size, 'job')} already submitted.`}
      </p>
    </Action>
  );
}

export function Retry({ id, counts, retryable, main, stay }: Props) {
  const made = useSignal('');
  const { failed = 0, cancelled = 0 } = counts ?? {};
  if (made.value)
    return (
      <a class="button" href={jobAddress(made.value)} onClick={follow} data-testid="retried">
        The new job
      </a>
    );
  return (
    <Action
      atOnce // needs no confirmation: the new job can be cancelled
      main={main === true}
      testid="retry-job"
      label="Retry"
      title="Retry the failed and cancelled closures?"
      yes="Submit a new job"
      disabled={retryable === false}
      why={retryable === false ? 'The arguments of the failed and cancelled closures are no longer stored.' : undefined}
      run={async () => {
        const next = await retry(id);
        if (!next) return;
        if (stay) made.value = next.id;
        else go(jobAddress(next.id));
      }}
      done="A new job was submitted."
    >
      <p>
        A new job will run{' '}
        {!counts
          ? 'the failed and cancelled closures'
          : [failed > 0 && `the ${plural(failed, 'closure')} that failed`, cancelled > 0 && `the ${count(cancelled)} that were cancelled`].filter(Boolean).join(' and ')}{' '}
        again, with the same arguments and options. Closures that succeeded will not be run again.
      </p>
    </Action>
  );
}
