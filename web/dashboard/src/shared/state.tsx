import { CLOSURE_SHAPES } from './model/closures';
import { doing, type Doing } from './model/doing';
import type { ClosureState, JobView } from './model/views';
import type { Shape } from './model/shape';
import { Chip } from './shape';

const COLOURS: Partial<Record<string, string>> = { RUNNING: 'text-running', SUCCEEDED: 'text-connected', FAILED: 'text-error' };
const title = (word: string): string => word[0] + word.slice(1).toLowerCase();

export function ClosureChip({ state }: { state: ClosureState }) {
  return (
    <Chip shape={CLOSURE_SHAPES[state] ?? 'waiting'} colour={COLOURS[state] ?? ''} data-state={state}>
      {title(state)}
    </Chip>
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
    <Chip shape={shape} colour={colour} data-doing={is}>
      {is}
    </Chip>
  );
}

export function JobChip({ job }: { job: Pick<JobView, 'state' | 'stopping' | 'counts'> }) {
  return <DoingChip is={doing(job, job.counts.running, job.counts.queued + job.counts.blocked)} />;
}
