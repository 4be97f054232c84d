// Machines as workers see them: one of a worker, or those of a cluster, with what they did within the last hour.

import { cpuText, gpuText, memoryText, rateText, sparkPath, type MachineView } from '../model/machines';
import { hostOf } from '../model/agents';
import { age } from '../model/format';
import { useLooked } from '../looked';
import { slow, viewNow } from '../page';
import { api } from '../rest';
import { follow, workerAddress } from '../route';
import { Panel } from '../parts/panel';

interface Page {
  machines: MachineView[];
  next_page_token?: string;
}

export function Machines({ cluster, task = '' }: { cluster: string; task?: string }) {
  const looked = useLooked<Page>(api('machines', { cluster, task, samples: task ? 720 : 240 }), { every: 5000, keep: true });
  const all = looked.value?.machines ?? [];
  if (all.length === 0) return null; // workers that are older say nothing
  const gpus = all.some(({ machine }) => machine && machine.gpus.length > 0);
  return (
    <Panel id="machines" title={task ? 'Its machine' : 'Machines'} note="of the control group where that may use less than the host" span={12}>
      <table class="table" data-testid="machines">
        <thead>
          <tr>
            {!task && <th>Worker</th>}
            <th>Host</th>
            <th>Cores busy</th>
            <th>Memory</th>
            {gpus && <th>GPUs busy</th>}
            <th>Received / sent, a second</th>
            <th>Read / written, a second</th>
          </tr>
        </thead>
        <tbody>
          {all.map((one) => (
            <Row key={one.task ?? ''} one={one} named={!task} gpus={gpus} />
          ))}
        </tbody>
      </table>
      {looked.value?.next_page_token && <p class="foot">Only the first {all.length} are shown.</p>}
    </Panel>
  );
}

function Row({ one, named, gpus }: { one: MachineView; named: boolean; gpus: boolean }) {
  slow.value;
  const { machine: m, samples: s } = one;
  const path = (values: (number | null)[] | undefined, most?: number) => (s && values ? sparkPath(s.seconds, values, most) : '');
  return (
    <tr data-machine={one.task ?? 'server'}>
      {named && (
        <td class="mono">
          {one.task ? (
            <a href={workerAddress(one.task, one.cluster)} onClick={follow}>
              <bdi>{one.task}</bdi>
            </a>
          ) : (
            'the server'
          )}
        </td>
      )}
      <td>
        <bdi title={one.host}>{hostOf(one.host)}</bdi>
      </td>
      <Figure of="cores" text={m && cpuText(m)} path={path(s?.cpu, m?.cpus)} ink="k0" />
      <Figure of="memory" text={m && memoryText(m)} path={path(s?.memory_bytes, m?.memory_total_bytes)} ink="k1" />
      {gpus && <Figure of="GPUs" text={m && gpuText(m)} path={path(s?.gpu_busy, 1)} ink="k4" />}
      {m ? (
        <>
          <td data-of="network">{rateText(m.received_per_s, m.sent_per_s)}</td>
          <td data-of="disks">{rateText(m.read_per_s, m.written_per_s)}</td>
        </>
      ) : (
        <td colSpan={2} class="soft">
          said nothing for {age(viewNow() - one.seen_ms)}
        </td>
      )}
    </tr>
  );
}

function Figure({ of, text = '', path, ink }: { of: string; text?: string; path: string; ink: string }) {
  return (
    <td data-of={of}>
      <svg class="course" viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
        <path d={path} stroke={`var(--${ink})`} fill="none" vector-effect="non-scaling-stroke" />
      </svg>
      {text}
    </td>
  );
}
