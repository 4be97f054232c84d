// Runs again what did not succeed of a job, as a new job.

import { useSignal } from '@preact/signals';
import { count, plural } from '../model/format';
import { Action } from '../parts/action';
import { api, send } from '../rest';
import { follow, go, jobAddress } from '../route';

interface Props {
  id: string;
  counts?: { failed: number; cancelled: number };
  retryable?: boolean;
  stay?: boolean; // here, with a link to the new job; else it is opened
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
        const next = await send<{ id: string }>('POST', api(`jobs/${encodeURIComponent(id)}/retry`));
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
