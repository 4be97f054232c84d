import { Attention } from './attention-panel';
import { Queue, Throughput } from './parts/chart';
import { KeyNumbers } from './key-numbers';
import { ClusterMap } from './parts/map';
import { Progress } from './parts/progress';
import { TaskList } from './parts/task-list';
import { Values } from './values';

export function Overview() {
  return (
    <div class="panels">
      <KeyNumbers />
      <ClusterMap />
      <Attention />
      <Throughput />
      <Queue />
      <Values />
      <TaskList />
      <Progress />
    </div>
  );
}
