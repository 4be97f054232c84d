import type { ComponentChildren } from 'preact';
import { failedIn, failedRuns, runningRuns, waitingFor } from './model/figures';
import type { SamplesBody } from './model/points';
import { short } from '../shared/model/format';
import { slow, store } from '../shared/page';
import { address, follow } from '../shared/route';
import { items } from '../shared/seen';

const HOUR_MS = 3_600_000;

export function Figures({ lastHour }: { lastHour: SamplesBody | null }) {
  slow.value;
  const { counters } = store;
  const closures = counters?.closures;
  const rows = items();
  const waiting = closures && { queued: closures.queued, blocked: closures.blocked, running: closures.running, slots: store.tasks.slotsConnected() };
  // The counter is exact as long as all work began within the last hour. Samples lack the first second after each start.
  const began = counters && (counters.durable ? counters.durable.history_since_ms : store.serverNow - counters.uptime_ms);
  const young = counters && began && store.serverNow - began <= HOUR_MS;
  const failed = young ? counters.closures.failed : lastHour && failedIn(lastHour);
  return (
    <section class="figures" aria-label="Closures">
      <Figure testid="now-running" title="Running" to={address('/work', { state: 'UNFINISHED' })} n={closures?.running}>
        {counters && runningRuns(counters.jobs.running, store.programs.all())}
      </Figure>
      <Figure testid="now-waiting" title="Waiting" to={address('/queue')} n={waiting && waiting.queued + waiting.blocked}>
        {waiting && <bdi>{waitingFor(rows, waiting)}</bdi>}
      </Figure>
      <Figure testid="now-failed" title="Failed in the last hour" to={address('/work', { state: 'FAILED' })} n={failed ?? undefined} bad={!!failed}>
        {failedRuns(rows) || (failed === 0 && 'no run failed')}
      </Figure>
    </section>
  );
}

interface FigureProps {
  testid: string;
  title: string;
  to: string;
  n: number | undefined; // undefined until the number is known
  bad?: boolean;
  children: ComponentChildren;
}

function Figure({ testid, title, to, n, bad, children }: FigureProps) {
  return (
    <a class="figure" href={to} onClick={follow} data-testid={testid}>
      <span class="figure-title">{title}</span>
      <span class="figure-row">
        <strong class={bad ? 'text-error' : ''}>{n === undefined ? '–' : short(n)}</strong> <span>{n === 1 ? 'closure' : 'closures'}</span>
      </span>
      <span class="figure-why">{children}</span>
    </a>
  );
}
