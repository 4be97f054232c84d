import { Agents } from './agents-panel';
import { cluster, order, slow } from './page';
import { ClusterTimeline } from './run/cluster-timeline';
import { Machines } from './things/machines-panel';
import { TorchPanel } from './things/torch-panel';
import { TaskList } from './parts/task-list';

export function TasksPage() {
  slow.value;
  const of = cluster();
  const workers = !of || of.main || order.value.length > 0 || of.tasks === 0; // a cluster with only agents has no workers
  return (
    <div class="panels tall">
      <Agents />
      {of && of.tasks > 0 && <ClusterTimeline key={of.name} of={of} />}
      {of && <TorchPanel cluster={of.name} />}
      {workers && <TaskList wide />}
      {of && <Machines cluster={of.name} />}
    </div>
  );
}
