// Runs again what did not succeed of a job, as a new job.

import { useSignal } from '@preact/signals';
import { count, plural } from '../model/format';
import { Action } from '../parts/action';
import { api, send } from '../rest';
import { address, follow, go, jobAddress } from '../route';

interface Props {
  id: string;
  counts?: { failed: number; cancelled: number };
  retryable?: boolean;
  stay?: boolean; // here, with a link to the new job; else it is opened
}

const retry = (id: string) => send<{ id: string }>('POST', api(`jobs/${encodeURIComponent(id)}/retry`));

// Retries several jobs, each as a new job. A second press continues with those that were not retried yet.
export function RetryAll({ ids }: { ids: readonly string[] }) {
  const made = useSignal(0);
  if (made.value === ids.length)
    return (
      <a class="button" href={address('/jobs', { state: 'UNFINISHED' })} onClick={follow} data-testid="retried">
        The new jobs
      </a>
    );
  return (
    <Action
      atOnce // the new jobs can be cancelled
      testid="retry-all"
      label="Retry all"
      title={`Retry ${plural(ids.length, 'job')}?`}
      yes={`Submit ${plural(ids.length, 'new job')}`}
      run={async () => {
        for (const id of ids.slice(made.value)) {
          await retry(id);
          ++made.value;
        }
      }}
      done={`${plural(ids.length, 'new job')} submitted.`}
    >
      <p>
        {plural(ids.length, 'new job')} will run what failed or was cancelled again, with the same arguments and options.{made.value > 0 && ` ${count(made.value)} of them are submitted already.`}
      </p>
    </Action>
  );
}

export function Retry({ id, counts, retryable, stay }: Props) {
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
      atOnce // the new job can be cancelled
      testid="retry-job"
      label="Retry"
      title="Retry what did not succeed?"
      yes="Submit a new job"
      disabled={retryable === false}
      why={retryable === false ? 'The arguments of what did not succeed are no longer kept.' : undefined}
      run={async () => {
        const next = await retry(id);
        if (!next) return;
        if (stay) made.value = next.id;
        else go(jobAddress(next.id));
      }}
      done="A new job was submitted."
    >
      <p>
        A new job runs{' '}
        {!counts ? 'what failed or was cancelled' : [failed > 0 && `the ${plural(failed, 'closure')} that failed`, cancelled > 0 && `the ${count(cancelled)} that were cancelled`].filter(Boolean).join(' and ')} again,
        with the same arguments and options. What has succeeded is not run again.
      </p>
    </Action>
  );
}
