import { AgentProblems } from './agents-panel';
import { Attention, Verdict } from './alerts-panel';
import { Charts } from './charts';
import { Clusters } from './clusters-panel';
import { Kept } from './kept-panel';
import { KeyNumbers } from './key-numbers';
import { slow, store } from '../shared/page';
import { ClusterMap } from './map';
import { Functions, Jobs } from '../run/progress';
import { TaskList } from '../fleet/task-list';
import { Values } from '../shared/values';

export function Overview() {
  return (
    <div class="panels overview">
      <Verdict />
      <div class="stack span-8">
        <Attention />
        <Clusters />
        <ClusterMap />
        <Workers />
      </div>
      <div class="stack span-4">
        <Jobs />
        <Functions />
        <Values />
        <Kept />
      </div>
      <KeyNumbers />
      <div class="span-12">
        <Charts />
      </div>
    </div>
  );
}

// Agents with problems come first. A server that has only agents has no list of workers. If there are no tasks, the list explains
// what it will show.
function Workers() {
  slow.value;
  const agents = store.clusters.all().some((c) => c.tasks > 0);
  return (
    <>
      <AgentProblems />
      {(store.tasks.size > 0 || !agents) && <TaskList />}
    </>
  );
}
