import { session } from '../shared/session';
import { valueBytes } from '../shared/model/counts';
import { bytes, count, plural, short, shortId, some } from '../shared/model/format';
import type { BlobCounts, Holder, JobView, ValueRow } from '../shared/model/views';
import { Bar } from '../shared/bar';
import type { Column } from '../shared/grid';
import { JobLink, Link, WorkerLink } from '../shared/link';
import { Choices, filter, FilterField, filters, ListPanel, Problem, useListing, useSorting } from '../shared/listing';
import { Panel } from '../shared/panel';
import type { Shape } from '../shared/model/shape';
import { Chip } from '../shared/shape';
import { Clipped } from '../shared/text';
import { Ago } from '../shared/when';
import { useLooked } from '../shared/looked';
import { clusterQuery, query, slow, store } from '../shared/page';
import { ExploreBar } from './bar';
import { askedRange } from './asked';
import { api } from '../shared/rest';
import { chosen, closureAddress, follow, jobAddress } from '../shared/route';
import { Teach } from '../shared/teach';

const LIMIT = 100;
const SHAPES: Record<string, Shape> = { READY: 'connected', NOT_READY: 'waiting', ABORTED: 'error' };
const WORDS: Record<string, string> = { READY: 'Ready', NOT_READY: 'Not ready', ABORTED: 'Aborted' };

const isBad = (v: ValueRow): boolean => v.error === true || v.status === 'ABORTED';

const remark = (v: ValueRow): string => v.error_line || v.released || '';

const columns: readonly Column<ValueRow>[] = [
  {
    title: 'Status',
    width: '98px',
    cell: (v) => (
      <Chip shape={isBad(v) ? 'error' : (SHAPES[v.status] ?? 'waiting')} colour={isBad(v) ? 'text-error' : ''}>
        {v.error && v.status === 'READY' ? 'Error' : (WORDS[v.status] ?? v.status)}
      </Chip>
    ),
  },
  {
    title: 'Value of',
    width: 'minmax(150px, 320px)',
    cell: (v) => (
      <Link cell to={closureAddress(v.closure, v.job)} title={v.id}>
        <bdi>
          {v.display_name ?? v.function} #{count(v.index)}
        </bdi>
      </Link>
    ),
  },
  {
    title: 'Job',
    width: 'minmax(120px, 220px)',
    narrow: 'hide',
    cell: (v) => <JobLink cell id={v.job} />,
  },
  {
    title: 'Worker',
    width: 'minmax(84px, 130px)',
    narrow: 'hide',
    says: (v) => v.worker ?? '',
    cell: (v) => (v.worker ? <WorkerLink cell task={v.worker} /> : <span class="soft">–</span>),
  },
  { title: 'Place', width: '90px', cell: (v) => (v.place === 'none' ? <span class="soft">–</span> : v.place) },
  { title: 'Size', width: '90px', right: true, sort: 'size', largest: true, cell: (v) => (v.place === 'none' ? <span class="soft">–</span> : bytes(v.bytes)) },
  { title: 'Created', width: '110px', right: true, sort: 'age', cell: (v) => <Ago ms={v.finished_ms || v.created_ms} /> },
  {
    title: 'Error or release',
    width: 'minmax(120px, 2fr)',
    narrow: 'long',
    says: remark,
    cell: (v) => <Clipped text={remark(v)} kind={isBad(v) ? 'text-error' : 'soft'} />,
  },
];

export function ValuesPage() {
  slow.value;
  return (
    <div class="panels listed">
      <ExploreBar />
      <Errors />
      <Holders />
      <List />
    </div>
  );
}

const ERRORS_SHOWN = 5;

// The newest values that are errors, unless the list shows only errors.
function Errors() {
  const shown = chosen('status').value !== 'ERROR';
  const asked = { cluster: clusterQuery.value, error: 'true', q: query.value.trim(), ...askedRange(), limit: ERRORS_SHOWN };
  const rows = useLooked<{ remote_values: ValueRow[] }>(shown ? api('remote_values', asked) : '', { every: 3000, keep: true }).value?.remote_values ?? [];
  if (!shown || rows.length === 0) return null;
  return (
    <Panel
      id="value-errors"
      title="Errors"
      note="the newest values that are errors"
      span={12}
      aside={
        <button type="button" class="plain" data-testid="all-errors" onClick={() => filter({ status: 'ERROR' })}>
          Show all errors
        </button>
      }
    >
      <ul class="value-errors">
        {rows.map((v) => (
          <li key={v.id} data-testid="error-value" data-value={v.id}>
            <Chip shape="error" colour="text-error">
              <Link to={closureAddress(v.closure, v.job)}>
                <bdi>
                  {v.display_name ?? v.function} #{count(v.index)}
                </bdi>
              </Link>
            </Chip>{' '}
            <bdi class="wrap">{remark(v)}</bdi>{' '}
            <span class="soft">
              {v.worker && (
                <>
                  on <bdi>{v.worker}</bdi>,{' '}
                </>
              )}
              <Ago ms={v.finished_ms} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Holders() {
  const looked = useLooked<{ holders: Holder[] }>(api('remote_values/holders', { limit: 20, cluster: clusterQuery.value }), { every: 3000 });
  const holders = looked.value?.holders ?? [];
  const most = Math.max(1, ...holders.map(valueBytes));
  const held = store.counters?.remote_values;
  return (
    <Panel
      id="holders"
      title="Largest holders"
      note="jobs and sessions by the size of their values"
      span={12}
      aside={
        held && (
          <span class="note">
            {plural(held.held, 'value')}, {bytes(held.held_bytes)}
          </span>
        )
      }
    >
      <Problem text={looked.problem} />
      {looked.value && holders.length === 0 && <p class="calm">No job or session has stored values.</p>}
      <ol class="holders" data-testid="holders">
        {holders.map((h) => (
          <li key={h.job} class="meter" data-testid="holder" data-job={h.job}>
            <a class="mono clip" href={jobAddress(h.job)} onClick={follow} title={h.job}>
              <bdi>{h.name || shortId(h.job)}</bdi>
            </a>
            <Bar
              parts={[
                { kind: 'k0', n: h.value_bytes },
                { kind: 'k4', n: h.spilled_bytes },
                { kind: 'k2', n: h.blob_bytes ?? 0 },
              ]}
              total={most}
            />
            <span>
              <b>{bytes(valueBytes(h))}</b>
              {heldElsewhere(h)}{' '}
              <span class="soft">
                · {h.values === 1 ? '1 value' : `${short(h.values)} values`}
                {h.streaming ? ' · session' : ''} ·
              </span>{' '}
              <button type="button" class="plain" onClick={() => filter({ job: h.job, sort: 'size', order: 'desc' })} data-testid="holder-values">
                show
              </button>
            </span>
          </li>
        ))}
      </ol>
      <Blobs />
    </Panel>
  );
}

function heldElsewhere({ spilled_bytes, blob_bytes = 0 }: Holder): string {
  const parts = [...(blob_bytes > 0 ? [`${bytes(blob_bytes)} as blobs`] : []), ...(spilled_bytes > 0 ? [`${bytes(spilled_bytes)} on disk`] : [])];
  return parts.length > 0 ? `, of which ${parts.join(' and ')}` : '';
}

function Blobs() {
  const b = useLooked<BlobCounts>(session.value?.clusters?.length ? '' : api('blobs', {}), { every: 5000 }).value;
  if (!b) return null;
  const { workers } = b.elsewhere;
  const most = Math.max(1, ...workers.map((w) => w.bytes));
  return (
    <>
      {workers.length > 0 && (
        <>
          <h3 class="names-head">In the memory of workers</h3>
          <ol class="holders" data-testid="worker-holders">
            {workers.map((w) => (
              <li key={w.task} class="meter" data-testid="worker-holder" data-task={w.task}>
                <WorkerLink task={w.task} />
                <Bar parts={[{ kind: 'k0', n: w.bytes }]} total={most} />
                <span>
                  <b>{bytes(w.bytes)}</b> <span class="soft">· {plural(w.values, 'large value')} ·</span>{' '}
                  <button type="button" class="plain" onClick={() => filter({ worker: w.task, sort: 'size', order: 'desc' })}>
                    show
                  </button>
                </span>
              </li>
            ))}
          </ol>
        </>
      )}
      {b.blobs > 0 && (
        <p class="calm" data-testid="blobs">
          {plural(b.blobs, 'blob')} of large arguments and values on the server: {bytes(b.bytes)} of {bytes(b.bytes_max)}; {count(b.held)} used by values or programs.
        </p>
      )}
    </>
  );
}

const STATUSES = [
  ['', 'all'],
  ['READY', 'ready'],
  ['ERROR', 'error'],
  ['NOT_READY', 'not ready'],
  ['ABORTED', 'aborted'],
] as const;
const PLACES = [
  ['', 'any place'],
  ['memory', 'in memory'],
  ['disk', 'on disk'],
  ['released', 'released'],
] as const;

// For the server, an error is also a READY value.
function statusQuery(status: string): { status: string; error?: string } {
  if (status === 'ERROR') return { status: 'READY', error: 'true' };
  return status === 'READY' ? { status, error: 'false' } : { status };
}

const FILTERS = ['status', 'place', 'job', 'worker'];

function List() {
  const { status, place, job, worker } = filters(FILTERS) as Record<'status' | 'place' | 'job' | 'worker', string>;
  const range = askedRange();
  const sorting = useSorting('age');
  const name = job !== '' && !/^job_[0-9a-f]{16}$/.test(job) ? job : '';
  const named = useLooked<{ jobs: JobView[] }>(name && api('jobs', { q: name, limit: 10, cluster: clusterQuery.value }), { keep: true, over: () => true }).value?.jobs ?? [];
  const id = name ? ((named.find((j) => j.name === name) ?? (named.length === 1 ? named[0] : undefined))?.id ?? '') : job;
  const typing = name !== '' && id === '';
  const path = typing ? '' : api('remote_values', { cluster: clusterQuery.value, ...statusQuery(status), place, job: id, worker, q: query.value.trim(), ...range, ...sorting.asked });
  const looked = useListing<ValueRow>(path, LIMIT, 'remote_values', { every: 3000 });
  const workers = [...new Set((looked.value?.rows ?? []).flatMap((v) => v.worker ?? []))].sort();
  const unclear = named.length > 1 ? `The names of several jobs contain “${name}”: ${some(named.map((j) => j.name))}.` : `No job is named “${name}”.`;
  return (
    <ListPanel
      id="values"
      title="Values"
      what="values"
      filters={[...FILTERS, 'q', 'from', 'to']}
      looked={looked}
      columns={columns}
      name={(v) => v.id}
      kind={(v) => (isBad(v) ? 'row-error' : '')}
      data={(v) => ({ 'data-value': v.id, 'data-status': v.status })}
      href={(v) => closureAddress(v.closure, v.job)}
      sorting={sorting}
      least={820}
      none={
        <>
          No values yet. A value appears when a call is submitted:
          <Teach lines={'muster submit muster.echo hello --url URL\nmuster submit muster.worker_info --url URL\nmuster values --url URL'} />
        </>
      }
      {...(typing && { empty: unclear })}
    >
      <Choices name="status" label="Status" options={STATUSES} />
      <Choices name="place" label="Place" options={PLACES} />
      <FilterField name="job" label="Job" list={named.map((j) => j.name || j.id)} />
      <FilterField name="worker" label="Worker" list={workers} />
    </ListPanel>
  );
}
