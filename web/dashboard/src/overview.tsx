import { Attention } from './attention-panel';
import { KeyNumbers } from './key-numbers';
import { lazy } from './parts/lazy';
import { ClusterMap } from './parts/map';
import { Panel } from './parts/panel';
import { Progress } from './parts/progress';
import { TaskList } from './parts/task-list';
import { Values } from './values';

// The drawing of charts is a third of all script: it may come after the numbers.
const place = (id: string, title: string) => () => (
  <Panel id={id} title={title} span={4}>
    <div class="chart" />
  </Panel>
);
const charts = () => import('./parts/chart');
const Throughput = lazy(async () => (await charts()).Throughput, place('throughput', 'Throughput'));
const Queue = lazy(async () => (await charts()).Queue, place('queue', 'Queue'));

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
