import type { ComponentChildren } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { cpuText, gpuText, isSilent, machineThen, memoryText, rangeOf, rateText, sparkPath, type MachineView } from './model/machines';
import { hostOf } from '../shared/model/agents';
import { age, clock, moment, plural } from '../shared/model/format';
import type { Range } from './model/timeline';
import { slow, viewNow } from '../shared/page';
import { choose, chosen } from '../shared/route';
import { WorkerLink } from '../shared/link';
import { Panel } from '../shared/panel';
import { Segments } from '../shared/segments';
import { Table } from '../shared/table';
import { crosshair, lookAtRange, lookedAt } from '../shared/range';
import { SAMPLES, SAMPLES_OF_MANY, useMachinesOf, type Machines as Listed } from './seen';

const SPANS = [
  ['1h', '1 h'],
  ['24h', '24 h'],
  ['7d', '7 d'],
] as const;
const SPAN_MS: Record<string, number> = { '24h': 86_400_000, '7d': 604_800_000 };
const ROUND = 60_000; // ms; the range moves in steps, to limit the number of requests

export function Machines({ cluster, task = '' }: { cluster: string; task?: string }) {
  slow.value;
  const zoom = lookedAt();
  const span = chosen('machines').value;
  const back = SPAN_MS[span];
  const now = Math.ceil(viewNow() / ROUND) * ROUND;
  const range = zoom ?? (back ? { from: now - back, to: now } : null);
  const of = useMachinesOf(task ? { cluster, task } : { cluster }, range, task ? SAMPLES : SAMPLES_OF_MANY);
  const spans = (
    <Segments label="Time span of the machines" options={SPANS} now={zoom ? null : span || '1h'} testid="machines" choose={(value) => choose({ machines: value === '1h' ? '' : value, zoom: '' })} />
  );
  return <MachinesTable of={of} range={range} zoomed={zoom} title={task ? 'Machine of this worker' : 'Machines'} named={!task} aside={spans} />;
}

interface TableProps {
  of: Listed;
  range: Range | null; // range of the lines; null means all samples
  zoomed: Range | null;
  title: string;
  named: boolean;
  aside?: ComponentChildren;
  look?(range: Range | null): void; // shows another range; null means the whole run
}

export function MachinesTable({ of: { machines: all, next_page_token: next }, range, zoomed, title, named, aside, look = lookAtRange }: TableProps) {
  if (all.length === 0) return null; // because older workers do not report machine data
  const gpus = all.some(({ machine }) => machine && machine.gpus.length > 0);
  const heads = [...(named ? ['Worker'] : []), 'Host', 'Cores busy', 'Memory', ...(gpus ? ['GPUs busy'] : []), 'Received / sent per second', 'Read / written per second'];
  const note = zoomed ? (
    <button type="button" class="plain" data-testid="machines-unzoom" onClick={() => look(null)}>
      {moment(zoomed.from)} to {clock(zoomed.to)} ✕
    </button>
  ) : (
    'values of the control group if its limit is below the limit of the host; drag to zoom in'
  );
  return (
    <Panel id="machines" title={title} note={note} span={12} aside={aside}>
      <div class="scrolls" tabIndex={0} role="region" aria-label={`${title}, table`}>
        <Table heads={heads} kind="fits" testid="machines">
          {all.map((one) => (
            <Row key={one.task ?? ''} one={one} named={named} gpus={gpus} range={range} look={look} />
          ))}
        </Table>
      </div>
      <At />
      {next && <p class="foot">Only the first {plural(all.length, 'machine')} are shown.</p>}
    </Panel>
  );
}

function At() {
  const at = crosshair.value;
  return (
    <p class="note" data-testid="machines-at">
      {at === null ? 'These are the current values.' : `These are the values at ${moment(at)}.`}
    </p>
  );
}

function Row({ one, named, gpus, range, look }: { one: MachineView; named: boolean; gpus: boolean; range: Range | null; look(range: Range): void }) {
  const at = crosshair.value;
  const { samples: s } = one;
  const then = at === null ? null : machineThen(one, at);
  const m = at === null ? one.machine : then;
  const [from, to] = range ? [range.from / 1000, range.to / 1000] : rangeOf(s?.seconds ?? []);
  // When the pointer moves, only the crosshair changes, not the paths.
  const paths = useMemo(() => {
    const path = (values: (number | null)[] | undefined, most?: number) => (s && values ? sparkPath(s.seconds, values, most, [from, to]) : '');
    return { cores: path(s?.cpu, one.machine?.cpus), memory: path(s?.memory_bytes, one.machine?.memory_total_bytes), gpus: path(s?.gpu_busy, 1) };
  }, [s, from, to]);
  const course = { from: from * 1000, to: to * 1000, at, look };
  return (
    <tr data-machine={one.task ?? 'server'}>
      {named && <td class="mono">{one.task ? <WorkerLink task={one.task} of={one.cluster} /> : 'the server'}</td>}
      <td>
        <bdi title={one.host}>{hostOf(one.host)}</bdi>
      </td>
      <Figure {...course} of="cores" text={m ? cpuText(m) : ''} path={paths.cores} />
      <Figure {...course} of="memory" text={m ? memoryText(m) : ''} path={paths.memory} />
      {gpus && <Figure {...course} of="GPUs" text={m ? gpuText(m) : ''} path={paths.gpus} />}
      {one.machine ? (
        <>
          <td data-of="network">{at === null && rateText(one.machine.received_per_s, one.machine.sent_per_s)}</td>
          <td data-of="disks">{at === null && rateText(one.machine.read_per_s, one.machine.written_per_s)}</td>
        </>
      ) : (
        <td colSpan={2} class="soft">
          {isSilent(one, range, viewNow()) && `silent for ${age(viewNow() - one.seen_ms)}`}
        </td>
      )}
    </tr>
  );
}

interface FigureProps extends Range {
  of: string;
  text: string;
  path: string;
  at: number | null;
  look(range: Range): void;
}

const LEAST_DRAG = 0.05; // fraction of the width; a shorter drag counts as a click

function Figure({ of, text, path, from, to, at, look }: FigureProps) {
  const began = useRef<number | null>(null);
  const x = at === null || to <= from ? -1 : (100 * (at - from)) / (to - from);
  const moved = (e: PointerEvent) => {
    const r = (e.currentTarget as Element).getBoundingClientRect();
    const part = Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
    if (path) crosshair.value = from + part * (to - from);
    return part;
  };
  return (
    <td data-of={of}>
      <svg
        class="course"
        viewBox="0 0 100 20"
        preserveAspectRatio="none"
        aria-hidden="true"
        onPointerMove={moved}
        onPointerLeave={() => (crosshair.value = null)}
        onPointerDown={(e) => {
          began.current = moved(e);
          (e.currentTarget as Element).setPointerCapture(e.pointerId);
        }}
        onPointerUp={(e) => {
          const [a, b] = [began.current, moved(e)];
          began.current = null;
          if (a !== null && Math.abs(b - a) > LEAST_DRAG) look({ from: from + Math.min(a, b) * (to - from), to: from + Math.max(a, b) * (to - from) });
        }}
      >
        <path d={path} stroke="var(--text2)" fill="none" vector-effect="non-scaling-stroke" />
        {x >= 0 && x <= 100 && <line x1={x} x2={x} y1="0" y2="20" stroke="var(--text)" vector-effect="non-scaling-stroke" />}
      </svg>
      {text}
    </td>
  );
}
