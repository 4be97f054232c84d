import { AgentProblems } from './agents-panel';
import { Charts } from './charts';
import { Kept } from './kept-panel';
import { KeyNumbers } from './key-numbers';
import { ClusterMap } from './map';
import { Functions, Jobs } from '../run/progress';
import { TaskList } from '../fleet/task-list';
import { slow, store } from '../shared/page';
import { Values } from '../shared/values';

export function ChartsPage() {
  return (
    <div class="panels overview">
      <KeyNumbers />
      <div class="span-12">
        <Charts />
      </div>
      <div class="stack span-8">
        <ClusterMap />
        <Workers />
      </div>
      <div class="stack span-4">
        <Jobs />
        <Functions />
        <Values />
        <Kept />
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
