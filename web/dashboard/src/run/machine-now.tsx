// The machine of a call or rank: now, or when the call or rank ended.

import { cpuText, gpuText, machineThen, memoryText } from './model/machines';
import { hostOf } from '../shared/model/agents';
import { moment } from '../shared/model/format';
import { cluster, slow, viewNow } from '../shared/page';
import { WorkerLink } from '../shared/link';
import { Fact } from '../shared/fact';
import { Panel } from '../shared/panel';
import { useMachinesOf } from './seen';

const SAMPLES = 240; // of the last hour
const HELD_MS = 3_000_000; // newer samples are in memory; older samples are read from history
const AROUND_MS = 60_000;

// `at` is the time of the end, or 0 for the current time.
export function MachineNow({ task, at }: { task: string; at: number }) {
  slow.value;
  const name = cluster()?.name ?? '';
  const range = at && viewNow() - at > HELD_MS ? { from: at - AROUND_MS, to: at + AROUND_MS } : null;
  const one = useMachinesOf(name ? { cluster: name, task } : null, range, SAMPLES).machines[0];
  if (!one) return null;
  const then = at ? machineThen(one, at) : null;
  const m = then ?? one.machine;
  return (
    <Panel id="machine" title="Machine" note={then ? `at ${moment(at)}` : 'now'} span={12}>
      <dl class="facts-line" data-testid="machine-now">
        <Fact name="host">
          <bdi>{hostOf(one.host)}</bdi>
        </Fact>
        <Fact name="worker">
          <WorkerLink task={task} />
        </Fact>
        {m && <Fact name="cores busy">{cpuText(m)}</Fact>}
        {m && <Fact name="memory used">{memoryText(m)}</Fact>}
        {m && m.gpus.length > 0 && <Fact name="GPUs busy">{gpuText(m)}</Fact>}
      </dl>
    </Panel>
  );
}
