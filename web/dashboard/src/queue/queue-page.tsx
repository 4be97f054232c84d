// Lists waiting closures, gangs and programs in the order in which they start, with the reason why they wait.

import { signal } from '@preact/signals';
import { Fact, TextFact } from '../shared/fact';
import { ClosureLink, Link } from '../shared/link';
import { Linked } from '../shared/linked';
import { Pages, Problem, useListing } from '../shared/listing';
import { count, plural, shortId } from '../shared/model/format';
import { clusterQuery, slow } from '../shared/page';
import { Panel } from '../shared/panel';
import { api } from '../shared/rest';
import { choose, chosen, jobAddress, programAddress } from '../shared/route';
import { Ago } from '../shared/when';
import { amountText, elsewhere, entryKey, functionsText, headline, moreFunctions, needsText, wantedText, workersText, type Entry, type Totals } from './model/queue';
import { Teach } from '../shared/teach';

const LIMIT = 50;
const JOBS_IN_ROW = 2;

const totals = signal<Totals | null>(null);

export function QueuePage() {
  slow.value;
  const looked = useListing<Entry>(api('queue', { cluster: clusterQuery.value }), LIMIT, 'queue', { heard: (body: Totals) => (totals.value = body) });
  const rows = looked.value?.rows ?? [];
  const all = looked.value && totals.value;
  return (
    <div class="panels">
      <Panel id="queue" title="Queue" span={12}>
        <Problem text={looked.problem} />
        {!all && !looked.problem && <p class="calm">Loading…</p>}
        {all && (
          <>
            <p class="queue-head" data-testid="queue-head">
              {headline(all)}
            </p>
            {elsewhere(all) && <p class="soft">{elsewhere(all)}</p>}
          </>
        )}
        {all && rows.length === 0 && <Empty />}
        {rows.length > 0 && (
          <ol class="queue" data-testid="queue-list">
            {rows.map((entry) => (
              <Row key={entryKey(entry)} entry={entry} />
            ))}
          </ol>
        )}
        {rows.length > 0 && <Pages looked={looked} what="rows" filtered={false} />}
        {all && !all.complete && <p class="foot">The queue is so long that the server did not examine all of it.</p>}
      </Panel>
    </div>
  );
}

function Row({ entry }: { entry: Entry }) {
  const key = entryKey(entry);
  const open = chosen('entry').value === key;
  const starts = entry.position !== undefined;
  return (
    <li data-testid="queue-entry" data-kind={entry.kind} data-name={entry.gang ?? entry.program ?? entry.functions?.[0]?.name} data-position={entry.position ?? ''}>
      <span class="queue-place" title={starts ? `Number ${entry.position} to start` : 'Cannot start on the connected workers'}>
        {starts ? entry.position : '–'}
      </span>
      <p class="queue-what">
        <What entry={entry} />
      </p>
      <p class="queue-wanted" data-testid="queue-wanted">
        <b>{wantedText(entry)}</b> <span class="soft">{workersText(entry)}</span>
      </p>
      <button type="button" data-testid="queue-details" aria-expanded={open} onClick={() => choose({ entry: open ? '' : key }, 'replace')}>
        Details
      </button>
      <p class={starts ? 'queue-why' : 'queue-why text-late'} data-testid="queue-why">
        <Linked text={entry.why} job={entry.job} />
      </p>
      {open && <Details entry={entry} />}
    </li>
  );
}

function What({ entry }: { entry: Entry }) {
  const since = (
    <span class="soft">
      , {(entry.waiting ?? 1) > 1 ? 'the oldest ' : ''}submitted <Ago ms={entry.since_ms} />
    </span>
  );
  if (entry.program)
    return (
      <>
        Program{' '}
        <Link to={programAddress(entry.program)} title={entry.program}>
          <bdi class="wrap">{entry.name || shortId(entry.program)}</bdi>
        </Link>
        <span class="soft"> with {plural(entry.wanted, 'rank')}</span>
        {since}
      </>
    );
  const needs = needsText(entry.needs ?? {});
  return (
    <>
      {entry.gang && (
        <>
          Gang <bdi class="mono wrap">{entry.gang}</bdi>:{' '}
        </>
      )}
      {amountText(entry)} <bdi class="mono wrap">{functionsText(entry)}</bdi>
      {moreFunctions(entry) && <span class="soft"> and perhaps others</span>}
      {needs && (
        <>
          {' '}
          <span class="soft">that need</span> <bdi class="mono wrap">{needs}</bdi>
        </>
      )}{' '}
      <span class="soft">in</span> <Jobs entry={entry} shown={JOBS_IN_ROW} />
      {since}
    </>
  );
}

function Jobs({ entry: { jobs = [], jobs_more: more = 0 }, shown }: { entry: Entry; shown: number }) {
  const rest = Math.max(0, jobs.length - shown) + more;
  return (
    <>
      {jobs.slice(0, shown).map(({ id, name }, n) => (
        <span key={id}>
          {n > 0 && ', '}
          <Link to={jobAddress(id)} title={id}>
            <bdi class="wrap">{name || shortId(id)}</bdi>
          </Link>
        </span>
      ))}
      {rest > 0 && <span class="soft"> and {plural(rest, 'other job')}</span>}
    </>
  );
}

function Details({ entry }: { entry: Entry }) {
  const { functions = [], needs = {} } = entry;
  return (
    <dl class="facts queue-facts" data-testid="queue-facts">
      <TextFact name="Needs" text={entry.program ? '' : needsText(needs) || 'only the function'} kind="mono wrap" />
      <Fact name={entry.program ? 'Workers that accept its ranks' : 'Matching workers'}>{entry.workers === undefined ? 'not counted' : count(entry.workers)}</Fact>
      {entry.workers_free !== undefined && <Fact name="Matching workers with a free slot">{count(entry.workers_free)}</Fact>}
      {entry.slots !== undefined && <Fact name="Slots of the matching workers">{count(entry.slots)}</Fact>}
      {entry.free !== undefined && <Fact name={entry.program ? 'Ranks that would fit now' : 'Free slots'}>{count(entry.free)}</Fact>}
      <Fact name="Priority">{entry.priority}</Fact>
      {functions.map(({ name, waiting }) => (
        <Fact key={name} name={name}>
          {entry.examined! < entry.waiting! ? `${count(waiting)} of the first ${plural(entry.examined!, 'closure')}` : plural(waiting, 'closure')}
        </Fact>
      ))}
      {entry.jobs && (
        <Fact name={entry.jobs.length === 1 ? 'Job' : 'Jobs'}>
          <span>
            <Jobs entry={entry} shown={entry.jobs.length} />
          </span>
        </Fact>
      )}
      {entry.first && (
        <Fact name="Oldest closure">
          <ClosureLink id={entry.first} job={entry.job!} />
        </Fact>
      )}
    </dl>
  );
}

function Empty() {
  return (
    <div data-testid="queue-empty">
      <p class="calm">
        Work waits here when it needs more slots, labels or resources than the workers have free. The list shows what starts next, and why the rest does not start. To see an entry, submit closures
        that need a label which no worker has:
      </p>
      <Teach lines={'muster submit muster.sleep 60s --label zone=mars --no-wait --url URL\nmuster queue --url URL\nmuster worker --server HOST:PORT --label zone=mars'} />
    </div>
  );
}
