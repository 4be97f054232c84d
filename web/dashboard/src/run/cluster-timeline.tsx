// Shows runs, agents and late arrivals at barriers for a cluster whose agents Muster did not start.

import { useMemo } from 'preact/hooks';
import { agentName } from '../shared/model/agents';
import type { ClusterRow } from '../shared/model/protocol';
import { clusterRun, type RunView } from './model/cluster-run';
import type { Stragglers } from '../agreement/model/straggler-protocol';
import { useBarrierMembers } from '../agreement/barrier-members';
import { useLooked } from '../shared/looked';
import { slow, store, viewNow } from '../shared/page';
import { api, get } from '../shared/rest';
import { MANY, pauseFor } from './model/timeline';
import { TimelinePanel } from './run-timeline';

interface Known {
  runs: readonly RunView[];
  late: Stragglers;
}
const RUNS = 12; // maximum number of runs; with more runs, each run would be too narrow to see
const EVERY = 5000; // ms

export function ClusterTimeline({ of }: { of: ClusterRow }) {
  slow.value;
  const path = api(`clusters/${encodeURIComponent(of.name)}`);
  const looked = useLooked<Known>(of.started > 0 ? path : '', {
    every: EVERY,
    keep: true,
    async read(base) {
      const [cluster, past, late] = await Promise.all([get<{ generation: RunView }>(base), get<{ runs: RunView[] }>(`${base}/runs?limit=1000`), get<Stragglers>(`${base}/stragglers`)]);
      const newest = cluster.generation;
      return { runs: [...past.runs.filter((r) => r.number < newest.number), newest].slice(-RUNS), late };
    },
  });
  const known = looked.value;
  const changed = of.tasks > MANY ? [known !== null, Math.floor(viewNow() / pauseFor(of.tasks))] : [known, store.agents.version, store.events.version];
  const run = useMemo(() => {
    const agents = store.agents.all().filter((a) => a.cluster === of.name);
    agents.sort((a, b) => (a.job === b.job ? a.index - b.index : agentName(a) < agentName(b) ? -1 : 1));
    const events = store.events.all().filter((e) => e.cluster === of.name);
    return known && agents.length > 0 ? clusterRun(known.runs, agents, known.late.barriers, events) : null;
  }, [of.name, ...changed]);
  const meetings = useBarrierMembers(store.barriers.all().filter((b) => b.cluster === of.name && b.state === 'RUNNING'));
  if (!run) return null;
  const alerts = store.attention.all().filter(({ link }) => link.includes(`cluster=${encodeURIComponent(of.name)}`));
  return <TimelinePanel attempts={run.attempts} ranks={run.ranks} seen={{ ...run.seen, alerts, meetings }} ended={of.state === 'FINISHED' || of.state === 'FAILED'} />;
}
