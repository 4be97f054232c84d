import type { HostPage } from 'muster-rest';
import { TorchPanel } from '../agreement/torch-panel';
import { Agents } from '../now/agents-panel';
import { ClusterTimeline } from '../run/cluster-timeline';
import { Machines } from '../run/machines-panel';
import { bytes, count, plural } from '../shared/model/format';
import { WorkerLink } from '../shared/link';
import { filter, Problem, useSorting } from '../shared/listing';
import { useLooked } from '../shared/looked';
import { cluster, query, setQuery, slow } from '../shared/page';
import { Panel } from '../shared/panel';
import { api, get } from '../shared/rest';
import { chosen } from '../shared/route';
import { Segments, type Option } from '../shared/segments';
import { FleetTable } from './fleet-table';
import { countShows, largestHolder, slowest, SHOWS, slownessText, SORTS, treeOf, type Host, type Show, type Sort } from './model/fleet';
import { Teach } from '../shared/teach';

const WORKERS = 4000; // workers to read; more would make each answer slow
const EVERY = 1500; // ms, for each thousand workers

interface Read {
  hosts: Host[];
  more: boolean;
}

async function readHosts(path: string): Promise<Read> {
  const hosts: Host[] = [];
  let workers = 0;
  for (let token = ''; ; ) {
    const page = await get<HostPage>(`${path}&limit=1000${token && `&page_token=${encodeURIComponent(token)}`}`);
    hosts.push(...page.hosts);
    for (const host of page.hosts) workers += host.workers.length;
    token = page.next_page_token ?? '';
    if (!token || workers >= WORKERS) return { hosts, more: token !== '' };
  }
}

export function FleetPage() {
  slow.value;
  const of = cluster();
  return (
    <div class="panels">
      {of && <Fleet key={of.name} of={of.name} only={!of.main && of.tasks > 0} />}
      <Agents />
      {of && of.tasks > 0 && <ClusterTimeline key={of.name} of={of} />}
      {of && <TorchPanel cluster={of.name} />}
      {of && <Machines cluster={of.name} />}
    </div>
  );
}

// `only` is true if the cluster has agents and therefore need not have workers.
function Fleet({ of, only }: { of: string; only: boolean }) {
  const looked = useLooked<Read>(api('hosts', { cluster: of }), { every: EVERY, keep: true, read: readHosts });
  const hosts = looked.value?.hosts ?? [];
  const sorting = useSorting('host');
  if (only && hosts.length === 0) return null;
  const by = SORTS.includes(sorting.by as Sort) ? (sorting.by as Sort) : 'host';
  const asked = chosen('show').value as Show;
  const show = SHOWS.includes(asked) ? asked : '';
  const tree = treeOf(hosts, query.value, show, by, sorting.descending);
  const counts = countShows(hosts);
  const gpus = hosts.some(({ machine }) => machine && machine.gpus.length > 0);
  return (
    <Panel id="tasks" title="Workers" note={looked.value ? `${plural(hosts.length, 'host')}, ${plural(counts[''], 'worker')}` : undefined} span={12} aside={query.value && <ClearFilter />}>
      <Verdict hosts={hosts} />
      <Problem text={looked.problem} />
      {counts[''] > 0 && <Shows counts={counts} now={show} />}
      {tree.length > 0 && <FleetTable tree={tree} gpus={gpus} />}
      {tree.length === 0 && <div class="calm">{!looked.value ? 'Loading…' : counts[''] > 0 ? `No worker matches${query.value ? ` “${query.value}”` : ''}.` : <None />}</div>}
      {looked.value?.more && <p class="foot">Only the hosts of the first {count(counts[''])} workers are shown. To list all workers, run muster tasks.</p>}
    </Panel>
  );
}

// Answers the two questions for which people open the page.
function Verdict({ hosts }: { hosts: readonly Host[] }) {
  const slow = slowest(hosts);
  const holder = largestHolder(hosts);
  const compared = hosts.some(({ workers }) => workers.some(({ slowness }) => slowness !== undefined));
  if (!slow && !holder && !compared) return null;
  return (
    <ul class="fleet-verdict" aria-live="off">
      {slow ? (
        <li data-testid="fleet-slowest" data-task={slow.task}>
          Slowest: <WorkerLink task={slow.task} of={slow.cluster} />, <span class="text-late">{slownessText(slow)}</span>
        </li>
      ) : (
        compared && (
          <li data-testid="fleet-slowest" class="soft">
            No worker is slower than 1.5 times the median.
          </li>
        )
      )}
      {holder && (
        <li data-testid="fleet-holder" data-task={holder.task}>
          Most values in memory: <WorkerLink task={holder.task} of={holder.cluster} />, {bytes(holder.value_bytes ?? 0)}
        </li>
      )}
    </ul>
  );
}

function Shows({ counts, now }: { counts: Record<Show, number>; now: Show }) {
  const options = SHOWS.filter((show) => show === '' || show === now || counts[show] > 0).map((show): Option<Show> => [show, show || 'all', count(counts[show])]);
  return <Segments<Show> wide label="Workers" options={options} now={now} testid="show" choose={(show) => filter({ show: show === now ? '' : show })} />;
}

function None() {
  return (
    <>
      <p>Workers appear here when they join. Start a worker for bundled functions, for programs, or for Python functions:</p>
      <Teach lines={'muster worker --server HOST:PORT --slots 4\nmuster worker --server HOST:PORT --allow-programs\npython -m muster worker --server HOST:PORT'} />
    </>
  );
}

function ClearFilter() {
  return (
    <button type="button" onClick={() => setQuery('')}>
      Clear “{query.value}”
    </button>
  );
}
