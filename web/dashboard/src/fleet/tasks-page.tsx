import { Agents } from '../now/agents-panel';
import { cluster, order, slow } from '../shared/page';
import { ClusterTimeline } from '../run/cluster-timeline';
import { Machines } from '../run/machines-panel';
import { TorchPanel } from '../agreement/torch-panel';
import { TaskList } from './task-list';

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
