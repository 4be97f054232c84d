import { viewNow } from '../shared/page';
import { address, follow } from '../shared/route';

export function InStream({ attempt: a }: { attempt: { worker: string; started_ms: number; ended_ms: number } }) {
  if (!a.started_ms) return null;
  const end = a.ended_ms || viewNow();
  const margin = Math.max(500, end - a.started_ms);
  return (
    <a href={address('/explore/stream', { tasks: a.worker, from: String(Math.floor(a.started_ms - margin)), to: String(Math.ceil(end + margin)) })} onClick={follow} data-testid="in-stream">
      In the task stream
    </a>
  );
}
