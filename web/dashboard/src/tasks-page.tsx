import { Agents } from './agents-panel';
import { cluster, slow } from './page';
import { TaskList } from './parts/task-list';

export function TasksPage() {
  slow.value;
  const workers = cluster()?.main ?? true; // they are tasks of the main port's cluster
  return (
    <div class="panels tall">
      <Agents />
      {workers && <TaskList wide />}
    </div>
  );
}
