import { CLOSURE_SHAPES } from '../model/rest/closures';
import type { ClosureState, JobView } from '../model/rest/views';
import { JOB_SHAPES, Mark } from './shape';

const COLOURS: Partial<Record<string, string>> = { SUCCEEDED: 'text-connected', FAILED: 'text-error' };
const title = (word: string): string => word[0] + word.slice(1).toLowerCase();

export function ClosureChip({ state }: { state: ClosureState }) {
  return (
    <span class={`chip ${COLOURS[state] ?? ''}`} data-state={state}>
      <Mark shape={CLOSURE_SHAPES[state] ?? 'waiting'} /> {title(state)}
    </span>
  );
}

export function JobChip({ job }: { job: Pick<JobView, 'state' | 'stopping'> }) {
  const stopping = job.stopping && job.state === 'RUNNING';
  return (
    <span class={`chip ${COLOURS[job.state] ?? ''}`} data-state={job.state}>
      <Mark shape={job.state === 'RUNNING' ? 'restarting' : JOB_SHAPES[job.state]} /> {stopping ? 'Stopping' : title(job.state)}
    </span>
  );
}
