import { AgentProblems } from './agents-panel';
import { Attention } from './attention-panel';
import { Charts } from './charts';
import { Clusters } from './clusters-panel';
import { Kept } from './kept-panel';
import { KeyNumbers } from './key-numbers';
import { slow, store } from './page';
import { ClusterMap } from './parts/map';
import { Functions, Jobs } from './parts/progress';
import { TaskList } from './parts/task-list';
import { Values } from './values';

export function Overview() {
  return (
    <div class="panels overview">
      <KeyNumbers />
      <div class="stack span-8">
        <ClusterMap />
        <Charts />
        <Workers />
        <div class="side-by-side">
          <Functions />
          <Values />
        </div>
      </div>
      <div class="stack span-4">
        <Attention />
        <Clusters />
        <Kept />
        <Jobs />
      </div>
    </div>
  );
}

// Agents with problems before all closure workers. A server of agents alone has no closure workers to list; while nobody
// is here at all the list says what will be there.
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
