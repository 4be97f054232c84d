import { Attention } from './attention-panel';
import { Queue, Throughput } from './chart';
import { KeyNumbers } from './key-numbers';
import { ClusterMap } from './map';
import { Progress } from './progress';
import { TaskList } from './task-list';
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
