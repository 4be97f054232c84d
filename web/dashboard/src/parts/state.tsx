import { CLOSURE_SHAPES } from '../model/rest/closures';
import { doing, type Doing } from '../model/rest/doing';
import type { ClosureState, JobView } from '../model/rest/views';
import type { Shape } from '../model/shape';
import { Mark } from './shape';

const COLOURS: Partial<Record<string, string>> = { RUNNING: 'text-running', SUCCEEDED: 'text-connected', FAILED: 'text-error' };
const title = (word: string): string => word[0] + word.slice(1).toLowerCase();

export function ClosureChip({ state }: { state: ClosureState }) {
  return (
    <span class={`chip ${COLOURS[state] ?? ''}`} data-state={state}>
      <Mark shape={CLOSURE_SHAPES[state] ?? 'waiting'} /> {title(state)}
    </span>
  );
}

const LOOKS: Record<Doing, [shape: Shape, colour: string]> = {
  Stopping: ['restarting', ''],
  Running: ['running', 'text-running'],
  Queued: ['late', 'text-late'],
  Waiting: ['late', 'text-late'],
  Idle: ['waiting', ''],
  Succeeded: ['connected', 'text-connected'],
  Failed: ['error', 'text-error'],
  Cancelled: ['disconnected', ''],
};

export function DoingChip({ is }: { is: Doing }) {
  const [shape, colour] = LOOKS[is];
  return (
    <span class={`chip ${colour}`} data-doing={is}>
      <Mark shape={shape} /> {is}
    </span>
  );
}

export function JobChip({ job }: { job: Pick<JobView, 'state' | 'stopping' | 'counts'> }) {
  return <DoingChip is={doing(job, job.counts.running, job.counts.queued + job.counts.blocked)} />;
}
