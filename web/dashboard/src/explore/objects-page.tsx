import { mayOnlyLook } from '../shared/session';
import { count } from '../shared/model/format';
import type { ObjectView } from '../shared/model/views';
import type { Shape } from '../shared/model/shape';
import { Action } from '../shared/action';
import { Fact, TextFact, TimeFact } from '../shared/fact';
import type { Column } from '../shared/grid';
import { Link, WorkerLink } from '../shared/link';
import { Choices, FilterField, filters, ListPanel, useListing } from '../shared/listing';
import { Chip } from '../shared/shape';
import { Clipped } from '../shared/text';
import { ExploreBar } from './bar';
import { Ago, Span } from '../shared/when';
import { clusterQuery, slow } from '../shared/page';
import { api, send } from '../shared/rest';
import { choose, chosen, jobAddress } from '../shared/route';
import { Teach } from '../shared/teach';

const LIMIT = 50;
const LOOKS: Record<string, readonly [shape: Shape, colour: string, word: string]> = {
  PENDING: ['late', 'text-late', 'Waiting for its task'],
  STARTING: ['restarting', 'text-restarting', 'Being created'],
  READY: ['connected', '', 'Ready'],
  FAILED: ['error', 'text-error', 'Failed'],
  LOST: ['error', 'text-error', 'Lost'],
};
const STATES = [
  ['', 'all'],
  ['PENDING', 'waiting'],
  ['READY', 'ready'],
  ['FAILED', 'failed'],
  ['LOST', 'lost'],
] as const;

const isOver = (o: ObjectView): boolean => o.state === 'FAILED' || o.state === 'LOST';
// The object exists, but its process is not connected.
const isAway = (o: ObjectView): boolean => o.state === 'READY' && !o.incarnation;

const lookOf = (o: ObjectView) => (isAway(o) ? (['late', 'text-late', 'Task disconnected'] as const) : (LOOKS[o.state] ?? (['waiting', '', o.state] as const)));

function State({ o }: { o: ObjectView }) {
  const [shape, colour, word] = lookOf(o);
  return (
    <Chip shape={shape} colour={colour} data-state={o.state}>
      {word}
    </Chip>
  );
}

// A failed object has an error; another object has the error of its last failed call, if there was one.
const lastErrorOf = (o: ObjectView): string => o.error || o.last_error || '';

const columns: readonly Column<ObjectView>[] = [
  { title: 'State', width: '152px', cell: (o) => <State o={o} /> },
  {
    title: 'Object',
    width: 'minmax(160px, 320px)',
    cell: (o) => <Clipped text={o.name ?? o.id} kind="mono" title={o.id} />,
  },
  { title: 'Class', width: 'minmax(110px, 220px)', narrow: 'hide', cell: (o) => <bdi class="mono">{o.class}</bdi> },
  { title: 'Task', width: 'minmax(80px, 130px)', cell: (o) => <WorkerLink cell task={o.task} /> },
  { title: 'Calls waiting', width: '100px', right: true, cell: (o) => <span class={o.calls.waiting > 0 ? 'text-late' : 'soft'}>{count(o.calls.waiting)}</span> },
  { title: 'Executing', width: '84px', right: true, narrow: 'hide', cell: (o) => count(o.calls.executing) },
  { title: 'Answered', width: '90px', right: true, narrow: 'hide', cell: (o) => count(o.calls.answered) },
  { title: 'Since', width: '100px', right: true, narrow: 'hide', cell: (o) => <Ago ms={o.since_ms} /> },
  { title: 'Created by', width: 'minmax(80px, 0.7fr)', narrow: 'hide', says: (o) => o.submitted_by ?? '', cell: (o) => <bdi class="soft">{o.submitted_by}</bdi> },
  {
    title: 'Last error',
    width: 'minmax(120px, 2fr)',
    narrow: 'long',
    says: lastErrorOf,
    cell: (o) => <Clipped text={lastErrorOf(o)} kind="text-error" />,
  },
];

const FILTERS = ['q', 'state', 'task'];

export function ObjectsPage() {
  slow.value;
  const now = chosen('object').value;
  const looked = useListing<ObjectView>(api('objects', { cluster: clusterQuery.value, ...filters(FILTERS) }), LIMIT, 'objects');
  const one = looked.value?.rows.find((o) => o.id === now);
  return (
    <div class="panels tall listed">
      <ExploreBar why="Objects are shown as they are now; the time range does not apply." />
      <ListPanel
        id="objects"
        title="Objects"
        note="newest first"
        what="objects"
        filters={FILTERS}
        looked={looked}
        columns={columns}
        name={(o) => o.id}
        kind={(o) => (isOver(o) ? 'row-error' : '')}
        data={(o) => ({ 'data-object': o.id, 'data-state': o.state })}
        chosen={now || null}
        choose={(name) => choose({ object: name ?? '' }, 'replace')}
        least={880}
        none={
          <>
            No objects yet. Create an object on a task in Python:
            <Teach lines={'with muster.ClusterCoordinator("HOST:PORT") as c:\n    weights = c.create(Weights, task="ps:0", name="weights")\n    weights.update(0.1).fetch()'} />
          </>
        }
        below={one && <One o={one} again={looked.again} />}
      >
        <Choices name="state" label="State" options={STATES} />
        <FilterField name="task" label="Task" />
      </ListPanel>
    </div>
  );
}

function One({ o, again }: { o: ObjectView; again(): void }) {
  const name = o.name ?? o.id;
  return (
    <section class="rank-detail" aria-label={`Object ${name}`} data-testid="object" data-object={o.id}>
      <h3>
        <bdi>{name}</bdi>: {lookOf(o)[2].toLowerCase()}
      </h3>
      {o.error && (
        <p class="wrap text-error">
          <bdi>{o.error}</bdi>
        </p>
      )}
      <dl class="facts-line">
        <Fact name="id">
          <code>{o.id}</code>
        </Fact>
        <TextFact name="class" text={o.class} kind="mono" />
        <Fact name="task">
          <WorkerLink task={o.task} />
        </Fact>
        <Fact name="session">
          <Link to={jobAddress(o.session)}>{o.session}</Link>
          {o.detached && ' (kept when the session ends)'}
        </Fact>
        <Fact name="calls">
          {count(o.calls.waiting)} waiting, {count(o.calls.executing)} of at most {count(o.concurrency)} executing, {count(o.calls.answered)} answered
        </Fact>
        <Fact name="in this state for">
          <Span from={o.since_ms} to={0} />
        </Fact>
        <TimeFact name="created" ms={o.created_ms} />
        <TextFact name="with token" text={o.submitted_by} />
        <TextFact name="last call that failed" text={o.last_error} kind="text-error wrap" />
      </dl>
      <div class="actions">
        <Action
          testid="delete-object"
          label="Delete"
          title={`Delete ${name}?`}
          yes="Delete it"
          danger
          {...mayOnlyLook()}
          run={async () => {
            await send('DELETE', api(`objects/${encodeURIComponent(o.id)}`, { cluster: clusterQuery.value }));
            again();
          }}
          done={`${name} was deleted.`}
        >
          <p>Its state will be lost. Unfinished calls (currently {count(o.calls.waiting + o.calls.executing)}) and all later calls will fail.</p>
        </Action>
      </div>
    </section>
  );
}
