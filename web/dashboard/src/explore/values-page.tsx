import { session } from '../shared/session';
import { bytes, count, plural, short, shortId, some } from '../shared/model/format';
import type { BlobCounts, Holder, JobView, ValueRow } from '../shared/model/views';
import { Bar } from '../shared/bar';
import type { Column } from '../shared/grid';
import { JobLink, Link } from '../shared/link';
import { Choices, filter, FilterField, filters, ListPanel, Problem, useListing, useSorting } from '../shared/listing';
import { Panel } from '../shared/panel';
import type { Shape } from '../shared/model/shape';
import { Chip } from '../shared/shape';
import { Clipped } from '../shared/text';
import { Ago } from '../shared/when';
import { useLooked } from '../shared/looked';
import { clusterQuery, slow, store } from '../shared/page';
import { api } from '../shared/rest';
import { closureAddress, follow, jobAddress } from '../shared/route';

const LIMIT = 100;
const SHAPES: Record<string, Shape> = { READY: 'connected', NOT_READY: 'waiting', ABORTED: 'error' };
const WORDS: Record<string, string> = { READY: 'Ready', NOT_READY: 'Not ready', ABORTED: 'Aborted' };

const isBad = (v: ValueRow): boolean => v.error === true || v.status === 'ABORTED';

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
    width: 'minmax(150px, 2fr)',
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
    width: 'minmax(150px, 1.3fr)',
    narrow: 'hide',
    cell: (v) => <JobLink cell id={v.job} />,
  },
  { title: 'Place', width: '90px', cell: (v) => (v.place === 'none' ? <span class="soft">–</span> : v.place) },
  { title: 'Size', width: '90px', right: true, sort: 'size', largest: true, cell: (v) => (v.place === 'none' ? <span class="soft">–</span> : bytes(v.bytes)) },
  { title: 'Created', width: '110px', right: true, sort: 'age', cell: (v) => <Ago ms={v.finished_ms || v.created_ms} /> },
  {
    title: 'Why released',
    width: 'minmax(120px, 2fr)',
    narrow: 'long',
    says: (v) => v.released ?? '',
    cell: (v) => <Clipped text={v.released} kind="soft" />,
  },
];

export function ValuesPage() {
  slow.value;
  return (
    <div class="panels listed">
      <Holders />
      <List />
    </div>
  );
}

function Holders() {
  const looked = useLooked<{ holders: Holder[] }>(api('remote_values/holders', { limit: 20, cluster: clusterQuery.value }), { every: 3000 });
  const holders = looked.value?.holders ?? [];
  const most = Math.max(1, ...holders.map(heldBytes));
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
              <b>{bytes(heldBytes(h))}</b>
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

const heldBytes = (h: Holder): number => h.value_bytes + h.spilled_bytes + (h.blob_bytes ?? 0);

function heldElsewhere({ spilled_bytes, blob_bytes = 0 }: Holder): string {
  const parts = [...(blob_bytes > 0 ? [`${bytes(blob_bytes)} as blobs`] : []), ...(spilled_bytes > 0 ? [`${bytes(spilled_bytes)} on disk`] : [])];
  return parts.length > 0 ? `, of which ${parts.join(' and ')}` : '';
}

function Blobs() {
  const b = useLooked<BlobCounts>(session.value?.clusters?.length ? '' : api('blobs', {}), { every: 5000 }).value;
  if (!b || b.blobs === 0) return null;
  return (
    <p class="calm" data-testid="blobs">
      {plural(b.blobs, 'blob')} of large arguments and values: {bytes(b.bytes)} of {bytes(b.bytes_max)}; {count(b.held)} used by values or programs.
    </p>
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
function query(status: string): { status: string; error?: string } {
  if (status === 'ERROR') return { status: 'READY', error: 'true' };
  return status === 'READY' ? { status, error: 'false' } : { status };
}

const FILTERS = ['status', 'place', 'job'];

function List() {
  const { status, place, job } = filters(FILTERS) as Record<'status' | 'place' | 'job', string>;
  const sorting = useSorting('age');
  const name = job !== '' && !/^job_[0-9a-f]{16}$/.test(job) ? job : '';
  const named = useLooked<{ jobs: JobView[] }>(name && api('jobs', { q: name, limit: 10, cluster: clusterQuery.value }), { keep: true, over: () => true }).value?.jobs ?? [];
  const id = name ? ((named.find((j) => j.name === name) ?? (named.length === 1 ? named[0] : undefined))?.id ?? '') : job;
  const typing = name !== '' && id === '';
  const path = typing ? '' : api('remote_values', { cluster: clusterQuery.value, ...query(status), place, job: id, ...sorting.asked });
  const looked = useListing<ValueRow>(path, LIMIT, 'remote_values', { every: 3000 });
  const unclear = named.length > 1 ? `The names of several jobs contain “${name}”: ${some(named.map((j) => j.name))}.` : `No job is named “${name}”.`;
  return (
    <ListPanel
      id="values"
      title="Values"
      what="values"
      filters={FILTERS}
      looked={looked}
      columns={columns}
      name={(v) => v.id}
      kind={(v) => (isBad(v) ? 'row-error' : '')}
      data={(v) => ({ 'data-value': v.id, 'data-status': v.status })}
      href={(v) => closureAddress(v.closure, v.job)}
      sorting={sorting}
      least={820}
      none="No values yet. A value appears when a closure is scheduled."
      {...(typing && { empty: unclear })}
    >
      <Choices name="status" label="Status" options={STATUSES} />
      <Choices name="place" label="Place" options={PLACES} />
      <FilterField name="job" label="Job" list={named.map((j) => j.name || j.id)} />
    </ListPanel>
  );
}
